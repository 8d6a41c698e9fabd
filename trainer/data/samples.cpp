#include "trainer/data/samples.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/split.h"
#include "trainer/data/statistics.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// `first` counts samples within one source.
using Sink = std::function<void(std::size_t first, std::span<const std::byte> pixels)>;

std::size_t bytes_of(const Samples& samples) {
  const auto elements = static_cast<std::size_t>(samples.shape.elements());
  return samples.has_bytes ? elements : elements * sizeof(float);
}

// Reads all samples and passes them to `sink`, a chunk at a time. A chunk's size depends only on
// the sample's, so that the fingerprint does not depend on how a file is packed.
Result<void> read_all(Samples& samples, const Sink& sink) {
  const std::size_t size = bytes_of(samples);
  const std::size_t step = std::max<std::size_t>(1, kChunkBytes / size);
  std::vector<std::byte> chunk(size * std::min(step, samples.size()));
  for (std::size_t first = 0; first < samples.size(); first += step) {
    const std::size_t count = std::min(step, samples.size() - first);
    const std::span<std::byte> pixels(chunk.data(), count * size);
    DETOL_TRY(samples.pixels->read(pixels));
    samples.fingerprint = hash_combine(samples.fingerprint, hash64(pixels));
    sink(first, pixels);
  }
  return {};
}

// Plan: the position of every sample, after every label was checked.
struct Plan {
  SplitAssignment assignment;
  int classes = 0;
};

Result<void> check_same_kind(const Samples& split, const Samples& training) {
  if (split.shape != training.shape) {
    return split.pixels->shape_error(fmt::format("images of {}, but those to train on are {}",
                                                 to_text(split.shape), to_text(training.shape)));
  }
  if (split.outputs != training.outputs) {
    return split.pixels->label_error(
        0, fmt::format("{} numbers for an image, but there are {} for those to train on",
                       split.outputs, training.outputs));
  }
  if (split.has_bytes == training.has_bytes) return {};
  return split.pixels->shape_error(
      "of other numbers than those to train on: one are bytes, the "
      "others are not");
}

Result<void> check_labels(const Samples& split, int classes) {
  const auto stray =
      std::ranges::find_if(split.labels, [&](auto label) { return label >= classes; });
  if (stray == split.labels.end()) return {};
  return split.pixels->label_error(
      static_cast<std::size_t>(stray - split.labels.begin()),
      fmt::format("label {}, but the classes to train on are 0..{}", *stray, classes - 1));
}

// Returns the number of classes, or of targets of an image.
int classes_of(const Found& found) {
  const Samples& training = found.training;
  if (training.labels.empty()) return static_cast<int>(training.outputs);
  if (!found.class_names.empty()) return static_cast<int>(found.class_names.size());
  return *std::ranges::max_element(training.labels) + 1;
}

// Checks that there are two classes and that each has a training image.
Result<void> check_classes(const Found& found, const Plan& plan) {
  const Samples& training = found.training;
  if (plan.classes < 2)
    return training.pixels->label_error(0, "all labels are 0: there is nothing to tell apart");
  const auto missing = class_without_images(plan.assignment, training.labels, plan.classes);
  if (!missing) return {};
  const auto largest = std::ranges::max_element(training.labels);
  const auto at = static_cast<std::size_t>(largest - training.labels.begin());
  if (!found.class_names.empty()) {
    const std::string& name = found.class_names[static_cast<std::size_t>(*missing)];
    return training.pixels->label_error(
        at, fmt::format("class {} ({}) has no image to train on", *missing, in_quotes(name)));
  }
  return training.pixels->label_error(
      at,
      fmt::format("label {0}, so the classes are 0..{0}, but class {1} has no image to train on",
                  plan.classes - 1, *missing));
}

SplitKeys split_keys(const DataConfig& config, const Samples& training) {
  if (config.split.by != "stratified") return {};
  if (!training.labels.empty()) return {.classes = training.labels};
  return {.classes = tenths_of(training.targets, training.outputs)};
}

Result<Plan> plan_of(const Found& found, const DataConfig& config) {
  SeparateSplitSizes separate;
  if (found.validation) separate.validation = found.validation->count();
  if (found.test) separate.test = found.test->count();
  Plan plan;
  DETOL_ASSIGN(plan.assignment, split_samples(config, found.training.count(), separate,
                                              split_keys(config, found.training)));
  plan.classes = classes_of(found);
  DETOL_TRY(check_labels(found.training, plan.classes));
  if (!found.training.labels.empty()) DETOL_TRY(check_classes(found, plan));
  for (const auto* split : {&found.validation, &found.test}) {
    if (!*split) continue;
    DETOL_TRY(check_same_kind(**split, found.training));
    DETOL_TRY(check_labels(**split, plan.classes));
  }
  return plan;
}

// Returns the data set's info with its fingerprint. REQUIRES: all pixels were read.
DatasetInfo info_of(const Found& found, const Plan& plan, const SplitConfig& split) {
  std::uint64_t fingerprint = found.training.fingerprint;
  if (found.validation) fingerprint = hash_combine(fingerprint, found.validation->fingerprint);
  if (found.test) fingerprint = hash_combine(fingerprint, found.test->fingerprint);
  fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(plan.assignment.validation));
  if (!found.test)
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(plan.assignment.test));
  DatasetInfo info{.task = {.input = found.training.shape, .classes = plan.classes},
                   .training = plan.assignment.training,
                   .validation = plan.assignment.validation,
                   .test = plan.assignment.test,
                   .fingerprint = with_split(fingerprint, split),
                   .remarks = found.training.remarks};
  for (const auto* other : {&found.validation, &found.test}) {
    if (*other)
      info.remarks.insert(info.remarks.end(), (*other)->remarks.begin(), (*other)->remarks.end());
  }
  return info;
}

// Copies the samples of a split to the data set, in their order from position `first` on.
Result<void> append(Samples& split, std::int64_t first, Dataset& dataset,
                    std::span<std::byte> pixels) {
  const auto begin = static_cast<std::size_t>(first);
  // Either labels or targets are empty, in `split` as in `dataset`.
  if (!split.labels.empty()) std::ranges::copy(split.labels, &dataset.labels[begin]);
  if (!split.targets.empty())
    std::ranges::copy(split.targets, &dataset.targets[begin * split.outputs]);
  return read_all(split, [&](std::size_t sample, std::span<const std::byte> chunk) {
    std::memcpy(&pixels[(begin + sample) * bytes_of(split)], chunk.data(), chunk.size());
  });
}

// Copies the training samples' targets to their positions.
void scatter_targets(const Samples& training, const SplitAssignment& assignment,
                     std::span<float> targets) {
  const std::size_t outputs = training.outputs;
  for (std::size_t i = 0; i * outputs < training.targets.size(); ++i) {
    std::copy_n(&training.targets[i * outputs], outputs,
                &targets[static_cast<std::size_t>(assignment.position[i]) * outputs]);
  }
}

Result<void> scatter(Samples& training, const SplitAssignment& assignment, Dataset& dataset,
                     std::span<std::byte> pixels) {
  const std::size_t size = bytes_of(training);
  for (std::size_t i = 0; i < training.labels.size(); ++i)
    dataset.labels[static_cast<std::size_t>(assignment.position[i])] = training.labels[i];
  scatter_targets(training, assignment, dataset.targets);
  return read_all(training, [&](std::size_t first, std::span<const std::byte> chunk) {
    for (std::size_t i = 0; i * size < chunk.size(); ++i) {
      const auto at = static_cast<std::size_t>(assignment.position[first + i]);
      std::memcpy(&pixels[at * size], &chunk[i * size], size);
    }
  });
}

// Requests huge pages; a system without them is only slower.
void advise_huge_pages(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(data) % kPage) % kPage;
  if (bytes < before + kPage) return;
  madvise(static_cast<std::byte*>(data) + before, (bytes - before) / kPage * kPage, MADV_HUGEPAGE);
}

std::span<std::byte> make_room(const Samples& samples, std::int64_t count, Dataset& dataset) {
  const auto all = static_cast<std::size_t>(count);
  const auto elements = static_cast<std::size_t>(samples.shape.elements());
  if (samples.labels.empty())
    dataset.targets.resize(all * samples.outputs);
  else
    dataset.labels.resize(all);
  if (samples.has_bytes) {
    dataset.images.reserve(all * elements);
    advise_huge_pages(dataset.images.data(), all * elements);
    dataset.images.resize(all * elements);
    return std::as_writable_bytes(std::span(dataset.images));
  }
  dataset.values.resize(all * elements);
  return std::as_writable_bytes(std::span(dataset.values));
}

// Checks the targets, as loading does.
Result<void> check_targets(const Found& found, const Plan& plan, const DataConfig& config) {
  Dataset loaded;
  loaded.info.task.classes = plan.classes;
  loaded.info.training = plan.assignment.training;
  loaded.class_names = found.class_names;
  loaded.targets.resize(found.training.targets.size());
  scatter_targets(found.training, plan.assignment, loaded.targets);
  return check_task_targets(loaded, config);
}

// Reads the pixels and checks, for bytes, that those of the training split are not all equal.
Result<void> examine_training(Samples& training, const SplitAssignment& assignment,
                              const DataConfig& config, DataSampler& sample) {
  const std::size_t size = bytes_of(training);
  ByteSums sums(training.shape);
  DETOL_TRY(read_all(training, [&](std::size_t first, std::span<const std::byte> chunk) {
    for (std::size_t i = 0; i * size < chunk.size(); ++i) {
      const std::int64_t at = assignment.position[first + i];
      if (at >= assignment.training) continue;
      const std::span<const std::byte> image = chunk.subspan(i * size, size);
      sample.add(at, image);
      if (training.has_bytes) sums.add({reinterpret_cast<const std::uint8_t*>(image.data()), size});
    }
  }));
  if (!training.has_bytes) return {};
  return sums.check(config.path);
}

// Adds the labels or targets of the training split.
void add_targets(const Samples& training, const SplitAssignment& assignment, DataSampler& sample) {
  for (std::size_t i = 0; i < training.size(); ++i) {
    const std::int64_t at = assignment.position[i];
    if (at >= assignment.training) continue;
    if (!training.labels.empty()) sample.add_label(at, training.labels[i]);
    if (!training.targets.empty())
      sample.add_targets(
          at, std::span(training.targets).subspan(i * training.outputs, training.outputs));
  }
}

std::uint64_t with_shape(std::uint64_t fingerprint, const Shape& shape) {
  for (const std::int64_t size : {shape.channels, shape.height, shape.width})
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(size));
  return fingerprint;
}

}  // namespace

std::uint64_t fingerprint_of(std::span<const std::int32_t> labels, const Shape& shape) {
  return with_shape(hash64(std::as_bytes(labels)), shape);
}

std::uint64_t fingerprint_of(const Samples& samples) {
  std::uint64_t fingerprint = fingerprint_of(samples.labels, samples.shape);
  if (samples.labels.empty()) {
    const std::uint64_t targets = hash64(std::as_bytes(std::span(samples.targets)));
    fingerprint = with_shape(hash_combine(targets, samples.outputs), samples.shape);
  }
  for (const auto* offsets : {&samples.offsets.inputs, &samples.offsets.targets}) {
    for (const double offset : *offsets)
      fingerprint = hash_combine(fingerprint, std::bit_cast<std::uint64_t>(offset));
  }
  return fingerprint;
}

Result<Dataset> assemble(Found found, const DataConfig& config) {
  DETOL_ASSIGN(const Plan plan, plan_of(found, config));
  const SplitAssignment& assignment = plan.assignment;
  Dataset dataset;
  const std::int64_t count = assignment.training + assignment.validation + assignment.test;
  const std::span<std::byte> pixels = make_room(found.training, count, dataset);
  DETOL_TRY(scatter(found.training, assignment, dataset, pixels));
  if (found.validation) {
    DETOL_TRY(append(*found.validation, assignment.training, dataset, pixels));
  }
  if (found.test) {
    DETOL_TRY(append(*found.test, assignment.training + assignment.validation, dataset, pixels));
  }
  dataset.info = info_of(found, plan, config.split);
  dataset.class_names = std::move(found.class_names);
  dataset.pictures = found.pictures;
  dataset.offsets = std::move(found.training.offsets);
  if (config.task == TaskKind::kMultiLabel) DETOL_TRY(check_multi_labels(dataset, config.path));
  DETOL_TRY(fill_statistics(dataset, config.path));
  return dataset;
}

Result<DatasetInfo> examine(Found found, const DataConfig& config) {
  DETOL_ASSIGN(const Plan plan, plan_of(found, config));
  DETOL_TRY(check_targets(found, plan, config));
  DataSampler sample(found.training.shape, plan.assignment.training, found.training.has_bytes);
  DETOL_TRY(examine_training(found.training, plan.assignment, config, sample));
  add_targets(found.training, plan.assignment, sample);
  const Sink drop = [](std::size_t, std::span<const std::byte>) {};
  for (auto* split : {&found.validation, &found.test}) {
    if (!*split) continue;
    DETOL_TRY(read_all(**split, drop));
  }
  DatasetInfo info = info_of(found, plan, config.split);
  info.sample = std::move(sample).sample();
  return info;
}

}  // namespace detol::inline trainer
