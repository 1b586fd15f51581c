package sandbox_test

import (
	"path/filepath"
	"testing"

	"vendline/cloud/payment"
	"vendline/cloud/payment/paymenttest"
	"vendline/cloud/payment/sandbox"
)

func TestContract(t *testing.T) {
	paymenttest.Run(t, func(t *testing.T) paymenttest.Rig { return contract(t, open(t)) })
}

func TestContractOnAFile(t *testing.T) {
	paymenttest.Run(t, func(t *testing.T) paymenttest.Rig {
		return contract(t, openFile(t, filepath.Join(t.TempDir(), "charges.db")))
	})
}

func contract(t *testing.T, r *rig) paymenttest.Rig {
	return paymenttest.Rig{
		Provider: r.Provider, Clock: r.clock, Merchant: merchant,
		Pay: r.server.Pay,
		Callback: func(tradeNo string) payment.Notification {
			n, err := r.server.Callback(tradeNo)
			if err != nil {
				t.Fatal(err)
			}
			return n
		},
		Charges:  r.server.Charged,
		Refunded: r.server.Refunded,
		Signed:   []string{sandbox.HeaderTimestamp, sandbox.HeaderNonce, sandbox.HeaderSignature},
	}
}
