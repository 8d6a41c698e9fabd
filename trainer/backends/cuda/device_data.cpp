#include "trainer/backends/cuda/device_data.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "trainer/data/class_weights.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::size_t kStaging = std::size_t{16} << 20;  // bytes of a transfer
constexpr double kShare = 0.9;  // of the free memory that data may take; libraries need some later

std::int64_t images_of(const Dataset& data) {
  return data.info.training + data.info.validation + data.info.test;
}

std::size_t image_bytes(const Dataset& data) {
  const auto numbers = static_cast<std::size_t>(data.info.task.input.elements());
  return numbers * (data.has_bytes() ? 1 : sizeof(float));
}

std::size_t target_bytes(std::int64_t images, const TargetForm& form) {
  const std::size_t numbers = form.takes_labels ? 1 : static_cast<std::size_t>(form.outputs);
  static_assert(sizeof(std::int32_t) == sizeof(float));
  return static_cast<std::size_t>(images) * numbers * sizeof(float);
}

const void* bytes_of(const Dataset& data, std::int64_t image) {
  if (data.has_bytes()) return data.image(image).data();
  return data.values_of(image).data();
}

void upload_pixels(const Dataset& data, std::byte* to) {
  const std::size_t size = image_bytes(data);
  const auto at_once = static_cast<std::int64_t>(std::max<std::size_t>(1, kStaging / size));
  const std::int64_t all = images_of(data);
  const HostMemory staging(static_cast<std::size_t>(std::min(at_once, all)) * size);
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(staging.data() + static_cast<std::size_t>(i) * size, bytes_of(data, first + i),
                  size);
    const auto offset = static_cast<std::size_t>(first) * size;
    to_device(to + offset, staging.data(), static_cast<std::size_t>(count) * size);
    wait();
  }
}

void upload_targets(const Dataset& data, const TargetForm& form, void* to) {
  const auto images = static_cast<std::size_t>(images_of(data));
  const auto outputs = static_cast<std::size_t>(form.outputs);
  const std::size_t numbers = form.takes_labels ? 0 : images * outputs;
  std::vector<std::int32_t> labels(images);
  std::vector<float> targets(numbers);
  for (std::size_t i = 0; i < images; ++i)
    data.write_targets(static_cast<std::int64_t>(i), i, {.labels = labels, .targets = targets});
  for (std::int64_t i = 0; i < (form.takes_labels ? 0 : data.info.training); ++i)
    weigh(form.class_weights, data, i,
          std::span(targets).subspan(static_cast<std::size_t>(i) * outputs, outputs));
  const std::size_t bytes = target_bytes(images_of(data), form);
  to_device(to, form.takes_labels ? static_cast<const void*>(labels.data()) : targets.data(),
            bytes);
  wait();
}

// Returns the scales, then the shifts of Normaliser.
std::vector<float> normalisation_of(const Dataset& data) {
  const double most = data.has_bytes() ? 255 : 1;
  std::vector<float> scales, shifts;
  for (std::size_t c = 0; c < data.mean.size(); ++c) {
    const double mean = data.mean[c], deviation = data.deviation[c];
    scales.push_back(static_cast<float>(1 / (most * deviation)));
    shifts.push_back(static_cast<float>(-mean / deviation));
  }
  scales.insert(scales.end(), shifts.begin(), shifts.end());
  return scales;
}

bool fits(const Dataset& data, const TargetForm& form) {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for free memory");
  const double wanted =
      static_cast<double>(images_of(data)) * static_cast<double>(image_bytes(data)) +
      static_cast<double>(target_bytes(images_of(data), form));
  return wanted < kShare * static_cast<double>(free);
}

}  // namespace

DeviceData::DeviceData(const Dataset& data, const TargetForm& form)
    : data_(&data),
      fingerprint_(data.info.fingerprint),
      form_(form),
      has_bytes_(data.has_bytes()),
      shape_(data.info.task.input),
      pixels_(static_cast<std::size_t>(images_of(data)) * image_bytes(data)),
      targets_(target_bytes(images_of(data), form)),
      scales_(2 * data.mean.size() * sizeof(float)) {
  upload_pixels(data, pixels_.data());
  upload_targets(data, form, targets_.data());
  const std::vector<float> scales = normalisation_of(data);
  to_device(scales_.data(), scales.data(), scales_.bytes());
  wait();
}

bool DeviceData::is_of(const Dataset& data, const TargetForm& form) const {
  return data_ == &data && fingerprint_ == data.info.fingerprint && form_ == form &&
         pixels_.bytes() == static_cast<std::size_t>(images_of(data)) * image_bytes(data);
}

BatchCall DeviceData::call() const {
  BatchCall call;
  call.channels = shape_.channels;
  call.height = shape_.height;
  call.width = shape_.width;
  call.pixels = pixels_.data();
  call.has_bytes = has_bytes_;
  call.scales = scales_.as<float>();
  call.shifts = call.scales + shape_.channels;
  call.outputs = form_.outputs;
  if (form_.takes_labels)
    call.all_labels = targets_.as<std::int32_t>();
  else
    call.all_targets = targets_.as<float>();
  return call;
}

std::shared_ptr<const DeviceData> device_data(const Dataset& data, const TargetForm& form) {
  static thread_local auto* const kLast = new std::shared_ptr<const DeviceData>();
  if (*kLast != nullptr && (*kLast)->is_of(data, form)) return *kLast;
  kLast->reset();
  if (!fits(data, form)) return nullptr;
  try {
    *kLast = std::make_shared<const DeviceData>(data, form);
  } catch (const std::bad_alloc&) {
    // Batches then come from the host.
  }
  return *kLast;
}

}  // namespace detol::inline trainer::cuda
