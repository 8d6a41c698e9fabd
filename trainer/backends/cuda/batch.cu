// Kernels that make batches on the device, as Batches::fill and Normaliser do on the host. Products
// and sums are rounded one by one, as on the host, so that a batch in floats has the same bits.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {
namespace {

__device__ float scaled(float pixel, float scale, float shift) {
  return __fadd_rn(__fmul_rn(scale, pixel), shift);
}

__device__ float blended(float own, float other, float share) {
  return __fadd_rn(__fmul_rn(1.0F - share, own), __fmul_rn(share, other));
}

// Position is a pixel of the augmented image.
struct Position {
  std::int64_t y, x;
};

template <typename Pixel>
__device__ float pixel_of(const BatchCall& call, const EpochImage& image, const Position& at,
                          std::int64_t channel) {
  const bool hidden = call.cutout > 0 && at.y >= image.top && at.y < image.top + call.cutout &&
                      at.x >= image.left && at.x < image.left + call.cutout;
  if (hidden) return 0;
  const std::int64_t column = image.mirrored != 0 ? call.width - 1 - at.x : at.x;
  const std::int64_t y = at.y + image.down, x = column + image.right;
  const bool covered = y >= 0 && y < call.height && x >= 0 && x < call.width;
  const std::int64_t plane = static_cast<std::int64_t>(image.image) * call.channels + channel;
  const float pixel = covered ? static_cast<float>(static_cast<const Pixel*>(
                                    call.pixels)[(plane * call.height + y) * call.width + x])
                              : 0.0F;
  return scaled(pixel, call.scales[channel], call.shifts[channel]);
}

// Returns the batch's first image in the epoch's order.
__device__ const EpochImage* batch_of(const BatchCall& call) {
  return call.order + call.now->first_image;
}
// Returns image i of the call.
__device__ EpochImage image_of(const BatchCall& call, std::int64_t i) {
  if (call.order != nullptr) return batch_of(call)[call.shard_first + i];
  EpochImage plain;
  plain.image = static_cast<std::int32_t>(*call.first + i);
  return plain;
}

__device__ void write_targets(const BatchCall& call, std::int64_t i, const EpochImage& image) {
  const EpochImage partner = call.mixes_images ? batch_of(call)[image.partner] : image;
  if (call.all_labels != nullptr) call.labels[i] = call.all_labels[image.image];
  if (call.mixes != nullptr) {
    call.mixes[i] = MixedLabel{};
    if (call.mixes_images && call.all_labels != nullptr)
      call.mixes[i] = MixedLabel{call.all_labels[partner.image], image.share};
  }
  if (call.targets == nullptr) return;
  for (std::int64_t k = 0; k < call.outputs; ++k) {
    const float own = call.all_targets[image.image * call.outputs + k];
    const float other = call.all_targets[partner.image * call.outputs + k];
    call.targets[i * call.outputs + k] = call.mixes_images ? blended(own, other, image.share) : own;
  }
}

template <typename T, typename Pixel>
struct MakeBatch {
  BatchCall call;
  __device__ void operator()(std::int64_t pack) const {
    const std::int64_t groups = padded(call.channels) / kLanes;
    const std::int64_t positions = call.height * call.width;
    const std::int64_t group = pack % groups, position = pack / groups % positions;
    const std::int64_t i = pack / (groups * positions);
    T* out = static_cast<T*>(call.out) + pack * kLanes;
    if (i >= call.images) return store(out, zeros());
    const EpochImage image = image_of(call, i);
    if (group == 0 && position == 0) write_targets(call, i, image);
    const Position at{position / call.width, position % call.width};
    Lanes lanes = zeros();
    for (int k = 0; k < kLanes && group * kLanes + k < call.channels; ++k)
      lanes[k] = value_of(image, at, group * kLanes + k);
    store(out, lanes);
  }
  __device__ float value_of(const EpochImage& image, const Position& at,
                            std::int64_t channel) const {
    const float own = pixel_of<Pixel>(call, image, at, channel);
    if (!call.mixes_images) return own;
    const EpochImage partner = batch_of(call)[image.partner];
    return blended(own, pixel_of<Pixel>(call, partner, at, channel), image.share);
  }
};

template <typename T>
struct ImportImages {
  const float* from;
  std::int64_t channels, positions;
  T* to;
  __device__ void operator()(std::int64_t pack) const {
    const std::int64_t groups = padded(channels) / kLanes;
    const std::int64_t group = pack % groups, row = pack / groups;
    const std::int64_t image = row / positions, position = row % positions;
    Lanes lanes = zeros();
    for (int k = 0; k < kLanes && group * kLanes + k < channels; ++k)
      lanes[k] = from[(image * channels + group * kLanes + k) * positions + position];
    store(to + pack * kLanes, lanes);
  }
};

__global__ void next_step_kernel(const StepRow* rows, const std::uint64_t* keys,
                                 std::int64_t keys_per_step, std::int64_t* next, StepRow* now,
                                 std::uint64_t* now_keys) {
  const std::int64_t step = *next;
  __syncthreads();
  if (threadIdx.x == 0) {
    *now = rows[step];
    *next = step + 1;
  }
  for (std::int64_t k = threadIdx.x; k < keys_per_step; k += blockDim.x)
    now_keys[k] = keys[step * keys_per_step + k];
}

struct NextImages {
  std::int64_t* first;
  std::int64_t images;
  __device__ void operator()(std::int64_t) const { *first += images; }
};

}  // namespace

void make_batch(const BatchCall& call, Stream stream) {
  const std::int64_t packs =
      call.images_held * call.height * call.width * padded(call.channels) / kLanes;
  with_type(call.type, [&]<typename T>(T) {
    if (call.has_bytes)
      for_all(packs, MakeBatch<T, std::uint8_t>{call}, stream);
    else
      for_all(packs, MakeBatch<T, float>{call}, stream);
  });
}

void import_images(Type type, const float* from, std::int64_t images, std::int64_t channels,
                   std::int64_t positions, void* to, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(images * positions * padded(channels) / kLanes,
            ImportImages<T>{from, channels, positions, static_cast<T*>(to)}, stream);
  });
}

void next_step(const StepRow* rows, const std::uint64_t* keys, std::int64_t keys_per_step,
               std::int64_t* next, StepRow* now, std::uint64_t* now_keys, Stream stream) {
  launch(stream, dim3(1), 32U, next_step_kernel, rows, keys, keys_per_step, next, now, now_keys);
}

void next_images(std::int64_t* first, std::int64_t images, Stream stream) {
  for_all(1, NextImages{first, images}, stream);
}

}  // namespace detol::inline trainer::cuda
