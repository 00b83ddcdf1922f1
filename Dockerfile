# enhance in a container, with OpenCL on the processor (PoCL) and LibRaw.
#
#   docker build -t enhance .
#   docker run --rm -v "$PWD":/photos enhance photo.dng -o photo.png
#
# For an NVIDIA GPU run it with --gpus all: the NVIDIA container toolkit adds the driver, and
# /etc/OpenCL/vendors below names its OpenCL library.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /enhance ./cmd/enhance

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ocl-icd-libopencl1 pocl-opencl-icd libraw20 \
 && rm -rf /var/lib/apt/lists/* \
 && mkdir -p /etc/OpenCL/vendors \
 && echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd
COPY --from=build /enhance /usr/local/bin/enhance
COPY contrib/photoprism /usr/local/bin/
ENV ENHANCE_CACHE_DIR=/cache NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN mkdir -m 1777 /cache
VOLUME /cache
WORKDIR /photos
ENTRYPOINT ["enhance"]
