// Checks that a model that was read back is the one that was scored. Structure, metadata and
// weights must be equal, logits only up to rounding: a file normalises pixels as
// (x - mean) / deviation, the trainer bytes as scale * x + shift.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "core/hash.h"
#include "core/table.h"
#include "encodings/network/canonical.h"
#include "export/formats.h"
#include "export/metadata.h"
#include "trainer/predict.h"

namespace detol::inline exporting {
namespace {

// The tolerance as a share of the largest logit. The normalisation's rounding is 1e-7 of a pixel; a
// wrong weight or layer changes a logit by about its own size.
constexpr float kTolerance = 1e-3f;
constexpr float kRounding = 1e-6f;  // of a mean, which may far exceed its deviation

tl::unexpected<Error> differs(const std::string& what) {
  return fail(ErrorCode::kExport, what);
}

Result<void> compare_networks(const Network& scored, const Network& read) {
  const std::size_t layers = scored.nodes().size(), found = read.nodes().size();
  if (layers != found) return differs(fmt::format("it has {} layers, the model {}", found, layers));
  const std::uint64_t hash = canonical_hash(scored), other = canonical_hash(read);
  if (hash == other) return {};
  return differs(fmt::format("its network {} is not the model's {}", to_hex(other), to_hex(hash)));
}

Result<void> compare_tensors(const Tensor& scored, const Tensor& read) {
  if (scored.shape != read.shape)
    return differs(fmt::format("tensor {} has another shape", in_quotes(scored.name)));
  for (std::size_t i = 0; i < scored.data.size(); ++i) {
    const float is = read.data[i], was = scored.data[i];
    if (std::bit_cast<std::uint32_t>(is) == std::bit_cast<std::uint32_t>(was)) continue;
    return differs(fmt::format("tensor {}, element {} is {}, not the model's {}",
                               in_quotes(scored.name), i, is, was));
  }
  return {};
}

// Compares tensors by name: equal networks may list their layers in another order.
Result<void> compare_weights(const Weights& scored, const Weights& read) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : read) by_name[tensor.name] = &tensor;
  for (const Tensor& tensor : scored) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end())
      return differs(fmt::format("tensor {} is missing", in_quotes(tensor.name)));
    DETOL_TRY(compare_tensors(tensor, *found->second));
  }
  if (scored.size() == read.size()) return {};
  return differs(fmt::format("it has {} tensors, the model {}", read.size(), scored.size()));
}

Result<void> compare_metadata(const Metadata& scored, const Metadata& read) {
  for (const auto& [key, value] : scored) {
    const auto found = read.find(key);
    if (found == read.end()) return differs(fmt::format("the metadata have no {}", key));
    if (found->second != value)
      return differs(fmt::format("the metadata's {} is {}, not the model's {}", key,
                                 in_quotes(found->second), in_quotes(value)));
  }
  if (scored.size() == read.size()) return {};
  return differs("the metadata have keys that the model has not");
}

// Normalises as the exported graph does: (x - mean) / deviation, channel by channel.
std::vector<float> normalised(const std::vector<float>& pixels, const Model& model) {
  const Shape& shape = model.network.input_shape();
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<float> images(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t channel = i / plane % channels;
    images[i] = (pixels[i] - model.mean[channel]) / model.deviation[channel];
  }
  return images;
}

}  // namespace

Result<void> compare_logits(const CheckLogits& check, const std::vector<float>& logits) {
  if (logits.size() != check.logits.size())
    return differs(
        fmt::format("it gives {} logits, the model {}", logits.size(), check.logits.size()));
  const std::size_t classes = logits.size() / static_cast<std::size_t>(check.count);
  const auto mean = [&](std::size_t i) { return check.mean.empty() ? 0 : check.mean[i % classes]; };
  const auto deviation = [&](std::size_t i) {
    return check.deviation.empty() ? 1 : check.deviation[i % classes];
  };
  float largest = 1;
  for (std::size_t i = 0; i < logits.size(); ++i)
    largest = std::max(largest, std::abs(check.logits[i] - mean(i)) / deviation(i));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float allowed = kTolerance * largest * deviation(i) + kRounding * std::abs(mean(i));
    if (std::abs(logits[i] - check.logits[i]) <= allowed) continue;
    return differs(fmt::format("image {} gives {} as logit {}, the model {}", i / classes,
                               logits[i], i % classes, check.logits[i]));
  }
  return {};
}

Result<void> compare_models(const Model& scored, const Model& read) {
  DETOL_TRY(compare_networks(scored.network, read.network));
  DETOL_TRY(compare_weights(scored.weights, read.weights));
  DETOL_TRY(compare_metadata(metadata_of(scored, read.is_raw), metadata_of(read, read.is_raw)));
  if (!scored.check) return {};
  DETOL_ASSIGN(
      std::vector<float> logits,
      logits_of(read.network, read.weights, normalised(scored.check->pixels, read), "reference"));
  return compare_logits(*scored.check, outputs_from(read, std::move(logits)));
}

}  // namespace detol::inline exporting
