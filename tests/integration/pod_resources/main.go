// SPDX-License-Identifier: Apache-2.0

// The kubelet's pod-resources service, made of the code that the kubelet itself is made of, with pods that a test
// chooses. It serves until its standard input ends.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

type service struct {
	v1.UnimplementedPodResourcesListerServer
	// Read at every question, so that a test can let pods come and go.
	pods  string
	sleep time.Duration
	code  codes.Code
}

func (s *service) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	select {
	case <-time.After(s.sleep):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.code != codes.OK {
		return nil, status.Error(s.code, "as the test wants it")
	}
	text, err := os.ReadFile(s.pods)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	answer := &v1.ListPodResourcesResponse{}
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return answer, nil
}

func run() error {
	socket := flag.String("socket", "", "path of the Unix socket")
	pods := flag.String("pods", "", "file with a ListPodResourcesResponse as JSON")
	sleep := flag.Duration("sleep", 0, "before each answer")
	code := flag.Uint("code", 0, "answer with this gRPC status")
	absent := flag.Bool("absent", false, "do not register the service")
	flag.Parse()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	if !*absent {
		v1.RegisterPodResourcesListerServer(server, &service{pods: *pods, sleep: *sleep, code: codes.Code(*code)})
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	fmt.Println("serving")
	return server.Serve(listener)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pod_resources:", err)
		os.Exit(1)
	}
}
