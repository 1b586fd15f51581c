# Vendline. `make run` needs only Go; `make test` sets up the rest on Debian.

BIN        := bin
VEND       := $(BIN)/vend
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
EDGE       := CGO_ENABLED=0 go build -trimpath -ldflags "-s -w"
PACKAGES   := ./...

.PHONY: help run build test test-fast up down bench drill sim lint vet fmt fmt-check cross ci clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## ten cabinets, one process, a live page; needs only Go
	@mkdir -p $(BIN) && go build -o $(VEND) ./deploy/cmd/vend && exec $(VEND) demo

build: ## bin/vend, bin/vend-cloud, bin/vend-edge
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./deploy/cmd/vend ./cloud/cmd/vend-cloud
	$(EDGE) -o $(BIN)/vend-edge ./edge/cmd/vend-edge

test: ## everything, on real servers, which it installs and starts
	@bash deploy/install.sh
	@mkdir -p $(BIN) && go build -o $(VEND) ./deploy/cmd/vend
	$(VEND) stack run -- go test -timeout 20m $(PACKAGES)

test-fast: ## what needs Go only
	go test -short $(PACKAGES)

up: build ## the real stack on loopback: servers, vend-cloud, two agents
	@bash deploy/install.sh
	$(VEND) up --detach

down: ## stop what `make up` started
	$(VEND) down

bench: build ## the table of the README, measured here
	@bash deploy/install.sh
	$(VEND) bench

drill: ## kill, freeze, fill, slow down and set wrong each part under load; CYCLES=20
	@bash deploy/install.sh
	go test -count=1 -timeout 12h -v ./deploy/drill -drill.cycles=$(or $(CYCLES),20) -drill.costly=$(or $(CYCLES),20) -drill.links \
		-drill.pause=$(or $(PAUSE),30s) -drill.cut=10s -drill.slow=5s -drill.full=10s -drill.out=$(CURDIR)/var/drill
	go run ./deploy/cmd/vend drill-table var/drill/drill.json

sim: build ## random histories of the whole system by a seed: crashes, losses, duplicates, time; SEEDS=1000
	$(VEND) sim --model
	$(VEND) sim --seeds $(or $(SEEDS),1000)

lint: ## staticcheck
	go run $(STATICCHECK) $(PACKAGES)

vet:
	go vet $(PACKAGES)

fmt: ## format the code
	gofmt -w cloud deploy edge lua shared

fmt-check:
	@out=$$(gofmt -l cloud deploy edge lua shared); [ -z "$$out" ] || { echo "gofmt wants to change:"; echo "$$out"; exit 1; }

cross: ## build the agent for every cabinet computer
	GOOS=linux GOARCH=amd64 $(EDGE) -o $(BIN)/edge/amd64/vend-edge ./edge/cmd/vend-edge
	GOOS=linux GOARCH=arm64 $(EDGE) -o $(BIN)/edge/arm64/vend-edge ./edge/cmd/vend-edge
	GOOS=linux GOARCH=arm GOARM=6 $(EDGE) -o $(BIN)/edge/arm/vend-edge ./edge/cmd/vend-edge
	GOOS=linux GOARCH=mipsle GOMIPS=softfloat $(EDGE) -o $(BIN)/edge/mipsle/vend-edge ./edge/cmd/vend-edge

ci: ## what CI runs
	.ci/run

clean: ## remove binaries and local state
	rm -rf $(BIN) var
