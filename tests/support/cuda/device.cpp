// The properties of the emulated device, and the names of errors.

#include <cstdio>
#include <cstring>
#include <map>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/state.h"

namespace detol::emulated {
namespace {

// The attributes that the backend reads; add others when it reads more.
const std::map<cudaDeviceAttr, int>& attributes() {
  static const std::map<cudaDeviceAttr, int> all = {
      {cudaDevAttrMultiProcessorCount, kMultiprocessors},
      {cudaDevAttrComputeCapabilityMajor, 9},
      {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
      {cudaDevAttrClockRate, 1'000'000},
      {cudaDevAttrMemoryClockRate, 1'000'000},
      {cudaDevAttrGlobalMemoryBusWidth, 64},
      {cudaDevAttrL2CacheSize, 1 << 20},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrAsyncEngineCount, 1},
      {cudaDevAttrComputeMode, cudaComputeModeDefault},
      {cudaDevAttrIntegrated, 0},
      {cudaDevAttrMemoryPoolsSupported, 0},
      {cudaDevAttrPciBusId, 0},
      {cudaDevAttrPciDomainId, 0},
  };
  return all;
}

bool exists(int device) {
  return device >= 0 && device < settings().devices;
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = entered()) return error;
  if (!exists(device)) return failed(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Emulated device %d", device);
  std::memcpy(properties->uuid.bytes, uuid_of_device(device).data(), sizeof properties->uuid.bytes);
  properties->totalGlobalMem = settings().memory;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = 227 << 10;
  properties->regsPerBlock = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  properties->l2CacheSize = 1 << 20;
  properties->memoryBusWidth = 64;
  properties->unifiedAddressing = properties->canMapHostMemory = 1;
  properties->pciDeviceID = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t error = entered()) return error;
  if (!exists(device)) return failed(cudaErrorInvalidDevice);
  const auto found = attributes().find(attribute);
  if (found == attributes().end()) return failed(cudaErrorInvalidValue);
  *value = found->second;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* name, int bytes, int device) {
  if (const cudaError_t error = entered()) return error;
  if (!exists(device)) return failed(cudaErrorInvalidDevice);
  std::snprintf(name, static_cast<std::size_t>(bytes), "0000:00:%02x.0", device);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  if (const cudaError_t error = entered()) return error;
  return function == nullptr ? failed(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}

#define DETOL_EMULATED_ERRORS(DO)                                                \
  DO(cudaSuccess)                                                                \
  DO(cudaErrorInvalidValue)                                                      \
  DO(cudaErrorMemoryAllocation)                                                  \
  DO(cudaErrorInvalidConfiguration)                                              \
  DO(cudaErrorNoDevice)                                                          \
  DO(cudaErrorInvalidDevice)                                                     \
  DO(cudaErrorDevicesUnavailable)                                                \
  DO(cudaErrorInvalidResourceHandle)                                             \
  DO(cudaErrorNotReady)                                                          \
  DO(cudaErrorIllegalAddress)                                                    \
  DO(cudaErrorLaunchFailure)                                                     \
  DO(cudaErrorNotPermitted)                                                      \
  DO(cudaErrorNotSupported)                                                      \
  DO(cudaErrorIllegalState) DO(cudaErrorStreamCaptureUnsupported)                \
      DO(cudaErrorStreamCaptureInvalidated) DO(cudaErrorStreamCaptureUnmatched)  \
          DO(cudaErrorStreamCaptureUnjoined) DO(cudaErrorStreamCaptureIsolation) \
              DO(cudaErrorStreamCaptureImplicit) DO(cudaErrorCapturedEvent)      \
                  DO(cudaErrorStreamCaptureWrongThread) DO(cudaErrorInvalidDeviceFunction)

const char* cudaGetErrorName(cudaError_t error) {
#define DETOL_NAME(name) \
  case name:             \
    return #name;
  switch (error) {
    DETOL_EMULATED_ERRORS(DETOL_NAME)
    default:
      return "unrecognized error code";
  }
#undef DETOL_NAME
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    default:
      return cudaGetErrorName(error);
  }
}

}  // extern "C"
