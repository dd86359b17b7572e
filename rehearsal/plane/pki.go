package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity outlives any rehearsal and is short enough that a forgotten key is
// worth nothing a month later.
const validity = 30 * 24 * time.Hour

// authority signs the certificates of one trust domain.
type authority struct {
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes a self-signed authority and writes <name>.crt.
func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, name: name, cert: cert, key: key}
	return a, writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der)
}

// issue writes <name>.crt and <name>.key for a client or, with addresses, a
// server that is a client too.
func (a *authority) issue(name string, subject pkix.Name, addresses ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(a.dir, name+".key"), key); err != nil {
		return err
	}
	return writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// Subjects of the control plane's clients, as Kubernetes' own bootstrap policy
// knows them.
var clients = map[string]pkix.Name{
	"admin":              {CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
	"controller-manager": {CommonName: "system:kube-controller-manager"},
	"scheduler":          {CommonName: "system:kube-scheduler"},
	"etcd-client":        {CommonName: "kube-apiserver"},
}

// writePKI makes all keys and certificates of one control plane, once: a
// restart keeps them, since kubeconfigs and tokens made with them are out.
func writePKI(dir string) error {
	done := filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		return fmt.Errorf("making the certificate authority: %w", err)
	}
	for name, subject := range clients {
		if err := ca.issue(name, subject); err != nil {
			return fmt.Errorf("issuing %s: %w", name, err)
		}
	}
	if err := ca.issue("etcd", pkix.Name{CommonName: "etcd"}, "127.0.0.1"); err != nil {
		return fmt.Errorf("issuing etcd: %w", err)
	}
	err = ca.issue("apiserver", pkix.Name{CommonName: "kube-apiserver"}, "127.0.0.1", serviceIP,
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return fmt.Errorf("issuing apiserver: %w", err)
	}
	frontProxy, err := newAuthority(dir, "front-proxy-ca")
	if err != nil {
		return fmt.Errorf("making the front proxy's authority: %w", err)
	}
	if err := frontProxy.issue("front-proxy", pkix.Name{CommonName: "front-proxy-client"}); err != nil {
		return fmt.Errorf("issuing front-proxy: %w", err)
	}
	tokens, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, "service-account.key"), tokens); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o600)
}
