# The command alone, without a shell: for warm Jobs, doctor, and an engine beside the trainer's container.
#
#   docker build -f deploy/engine.Dockerfile -t registry.example.com/shardfeed:1 .
#
# The context is a checkout. The program is static, so it has neither CUDA nor libjpeg-turbo: JPEGs are decoded in Go.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags nocuda,noturbo -ldflags='-s -w' -o /shardfeed ./cmd/shardfeed

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /shardfeed /shardfeed
USER 65532:65532
ENTRYPOINT ["/shardfeed"]
CMD ["doctor"]
