package main

import (
	"fmt"
	"os"

	"vendline/deploy/reliability"
)

// drillTableCmd turns what drills wrote down into the README's table.
type drillTableCmd struct {
	Runs []string `arg:"" help:"drill.json of one run or several." type:"existingfile"`
	Into string   `help:"Document that gets the table between its marks; otherwise it is printed." type:"existingfile"`
}

func (c *drillTableCmd) Run() error {
	var runs []reliability.Run
	for _, path := range c.Runs {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		run, err := reliability.Read(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		runs = append(runs, run)
	}
	table := reliability.Markdown(runs...)
	if c.Into == "" {
		fmt.Print(table)
		return nil
	}
	doc, err := os.ReadFile(c.Into)
	if err != nil {
		return err
	}
	if doc, err = reliability.Into(doc, table); err != nil {
		return fmt.Errorf("%s: %w", c.Into, err)
	}
	return os.WriteFile(c.Into, doc, 0o644)
}
