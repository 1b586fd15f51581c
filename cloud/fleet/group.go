package fleet

import (
	"context"
	"net/http"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Groups say which cabinets are warmed up together.
type Groups interface {
	SetGroup(ctx context.Context, cabinet, group string) error
	GroupCabinets(ctx context.Context, group string) ([]string, error)
}

var errBadGroup = &wire.FieldError{Path: "group", Problem: "must be 1 to 32 letters, digits, '_' or '-'"}

// setGroup answers PUT /v1/fleet/cabinets/{id}/group {"group":"north"}; an empty
// group is none.
func (f *Fleet) setGroup(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Group *string `json:"group"`
	}
	err := f.host.ReadJSON(w, r, &b)
	if err == nil {
		err = f.known(r.Context(), r.PathValue("id"))
	}
	if err == nil && (b.Group == nil || *b.Group != "" && !wire.ValidCabinet(*b.Group)) {
		err = errBadGroup
	}
	if err == nil && f.opt.Groups == nil {
		err = &order.Refusal{Code: wire.CodeNotFound, Detail: "this service keeps no groups"}
	}
	if err == nil {
		err = f.opt.Groups.SetGroup(r.Context(), r.PathValue("id"), *b.Group)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "cabinet": r.PathValue("id"), "group": *b.Group})
}

// grouped lists the cabinets of a group that must not be empty.
func (f *Fleet) grouped(ctx context.Context, group string) ([]string, error) {
	if !wire.ValidCabinet(group) || f.opt.Groups == nil {
		return nil, errBadGroup
	}
	ids, err := f.opt.Groups.GroupCabinets(ctx, group)
	if err == nil && len(ids) == 0 {
		err = &wire.FieldError{Path: "group", Problem: "has no cabinets; PUT /v1/fleet/cabinets/{id}/group puts one in"}
	}
	return ids, err
}
