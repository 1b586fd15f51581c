package fleet

import (
	"context"
	"net/http"
)

// retryRefund answers POST /v1/fleet/refunds/{id}/retry: the provider is asked
// again, from the first attempt. A refund that is not stuck is left alone.
func (f *Fleet) retryRefund(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), writeLimit)
	defer cancel()
	id := r.PathValue("id")
	retried, err := f.opt.Desk.RetryRefund(ctx, id)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "id": id, "retried": retried})
}
