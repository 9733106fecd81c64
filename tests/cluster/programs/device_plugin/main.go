// SPDX-License-Identifier: Apache-2.0

// A device plugin without devices: it tells the kubelet that the node has those that the command line names, as NVIDIA's
// tells of GPUs by their UUIDs, and a container that is given some finds their names in its environment. It ends with the
// kubelet that it registered with; who started it starts it again.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	given    = "NVIDIA_VISIBLE_DEVICES"
	patience = 20 * time.Second
)

type plugin struct {
	ids []string
	// Told once the kubelet does not listen to the list any more.
	ended chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (*v1beta1.DevicePluginOptions, error) {
	return &v1beta1.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *v1beta1.Empty, stream v1beta1.DevicePlugin_ListAndWatchServer) error {
	answer := &v1beta1.ListAndWatchResponse{}
	for _, id := range p.ids {
		answer.Devices = append(answer.Devices, &v1beta1.Device{ID: id, Health: v1beta1.Healthy})
	}
	defer close(p.ended)
	if err := stream.Send(answer); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *v1beta1.AllocateRequest) (*v1beta1.AllocateResponse, error) {
	answer := &v1beta1.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &v1beta1.ContainerAllocateResponse{
			Envs: map[string]string{given: strings.Join(container.DevicesIDs, ",")}})
	}
	return answer, nil
}

func (p *plugin) GetPreferredAllocation(context.Context, *v1beta1.PreferredAllocationRequest) (*v1beta1.PreferredAllocationResponse, error) {
	return &v1beta1.PreferredAllocationResponse{}, nil
}

func (p *plugin) PreStartContainer(context.Context, *v1beta1.PreStartContainerRequest) (*v1beta1.PreStartContainerResponse, error) {
	return &v1beta1.PreStartContainerResponse{}, nil
}

func register(folder, socket, resource string) error {
	kubelet, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = v1beta1.NewRegistrationClient(kubelet).Register(ctx, &v1beta1.RegisterRequest{
		Version: v1beta1.Version, Endpoint: socket, ResourceName: resource})
	return err
}

func run() error {
	folder := flag.String("folder", v1beta1.DevicePluginPath, "where the kubelet and its plugins listen")
	resource := flag.String("resource", "nvidia.com/gpu", "what containers ask for")
	ids := flag.String("ids", "", "the devices, with commas")
	flag.Parse()
	socket := strings.ReplaceAll(*resource, "/", "_") + ".sock"
	path := filepath.Join(*folder, socket)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	served := &plugin{ids: strings.Split(*ids, ","), ended: make(chan struct{})}
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, served)
	go func() { _ = server.Serve(listener) }()
	if err := register(*folder, socket, *resource); err != nil {
		return err
	}
	fmt.Println("registered", *resource)
	<-served.ended
	return fmt.Errorf("the kubelet is gone")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "device_plugin:", err)
		os.Exit(1)
	}
}
