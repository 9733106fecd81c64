// SPDX-License-Identifier: Apache-2.0

// cert-manager, as much of it as signs within a cluster: its own controllers of Issuers (of the kinds ca and selfsigned),
// CertificateRequests and Certificates, which here are one process beside the cluster. Left out are ACME, Vault and Venafi; the webhook,
// which refuses objects that make no sense and writes into a CertificateRequest who asked; the cainjector; and the election of one
// among many.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/utils/clock"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/metrics"
)

const workers = 2

var wanted = []string{
	issuers.ControllerName, clusterissuers.ControllerName,
	approver.ControllerName, ca.CRControllerName, selfsigned.CRControllerName,
	trigger.ControllerName, keymanager.ControllerName, requestmanager.ControllerName, issuing.ControllerName,
	readiness.ControllerName, revisionmanager.ControllerName,
}

func run(ctx context.Context, kubeconfig string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		Clock: clock.RealClock{}, Metrics: metrics.New(logs.Log, clock.RealClock{}),
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: "kube-system"},
	})
	if err != nil {
		return err
	}
	var made []controller.Interface
	for _, name := range wanted {
		one, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		made = append(made, one)
	}
	// What they look at is shared, and known only when all of them are made.
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	var all sync.WaitGroup
	failed := make(chan error, len(made))
	for _, one := range made {
		all.Add(1)
		go func() {
			defer all.Done()
			failed <- one.Run(workers, ctx)
		}()
	}
	err = <-failed // nil: it was told to end
	if err == nil {
		all.Wait()
	}
	return err
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "whose rights it has, and in which cluster")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(logs.NewContext(ctx, logs.Log), *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "cert_manager:", err)
		os.Exit(1)
	}
}
