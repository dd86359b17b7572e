package plane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"ray-on-aks/rehearsal/atomicfile"
)

// writeConfigs writes the kubeconfigs and the egress configuration.
func (p *Plane) writeConfigs() error {
	for _, name := range []string{"admin", "controller-manager", "scheduler"} {
		if err := p.writeKubeconfig(name); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
	}
	// Everything that the API server sends to pods and Services goes through a
	// proxy of ours: their addresses exist nowhere else.
	egress := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`, p.egress)
	return os.WriteFile(filepath.Join(p.Dir, "egress.yaml"), []byte(egress), 0o600)
}

func (p *Plane) kubeconfig(client string) string {
	if client == "admin" {
		return p.Kubeconfig
	}
	return filepath.Join(p.Dir, client+".kubeconfig")
}

// writeKubeconfig embeds keys and certificates, so that the file can be handed
// on as AKS hands out its own.
func (p *Plane) writeKubeconfig(client string) error {
	var pem [3][]byte
	for i, name := range []string{"ca.crt", client + ".crt", client + ".key"} {
		data, err := os.ReadFile(p.pki(name))
		if err != nil {
			return err
		}
		pem[i] = data
	}
	config := api.Config{
		Clusters: map[string]*api.Cluster{
			"rehearsal": {Server: "https://" + p.Address, CertificateAuthorityData: pem[0]},
		},
		AuthInfos: map[string]*api.AuthInfo{
			client: {ClientCertificateData: pem[1], ClientKeyData: pem[2]},
		},
		Contexts:       map[string]*api.Context{"rehearsal": {Cluster: "rehearsal", AuthInfo: client}},
		CurrentContext: "rehearsal",
	}
	return clientcmd.WriteToFile(config, p.kubeconfig(client))
}

// Publish puts a copy of the administrator's kubeconfig at path, complete or
// not at all.
func (p *Plane) Publish(path string) error {
	data, err := os.ReadFile(p.Kubeconfig)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data)
}
