package main

import "context"

type simCmd struct {
	Seeds int `help:"How many histories." default:"1000"`
}

func (c simCmd) Run(ctx context.Context) error { return nil }
