// The grammar of a checkpoint file (docs/checkpoint.md; all numbers little-endian):
//
//   file   := "DETOLCK" version  length  header  tensor*  checksum
//   version:= '1' .. '4'          a digit; 2 has averaged weights, 3 what a group carries, 4 the
//                                 weights of an earlier report
//   length := u64                 of the header, at most 8 MB
//   header := JSON                the numbers, and names and shapes of the tensors
//   tensor := f32*                row-major: weights, then each moment's, then the average's, then
//                                 each residual's, then each pending sum's, then the best weights
//   checksum := u64               XXH3 of everything before, in every version
//
// Doubles in the header are the 16 hexadecimal digits of their bits: exact, and NaN too.

#include "trainer/checkpoint_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/utf8.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "DETOLCK";
constexpr char kPlain = '1';
constexpr char kAveraged = '2';
constexpr char kGrouped = '3';
constexpr char kWithBest = '4';  // the newest
constexpr std::size_t kHeaderStart = 16;
constexpr std::size_t kLongestHeader = std::size_t{128} << 20;  // reports of 100,000 epochs

tl::unexpected<CheckpointFlaw> damaged(std::string reason) {
  return tl::unexpected<CheckpointFlaw>(CheckpointFlaw{false, std::move(reason)});
}

std::string bits_of(double value) {
  return to_hex(std::bit_cast<std::uint64_t>(value));
}

// Returns the number in a string of 16 hexadecimal digits; throws json's exceptions for anything
// else.
std::uint64_t hash_from(const json& value) {
  const auto& digits = value.get_ref<const std::string&>();
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (digits.size() != 16 || error != std::errc() || end != digits.data() + digits.size()) {
    throw json::other_error::create(501, "not 16 hexadecimal digits", nullptr);
  }
  return bits;
}

double double_from(const json& value) {
  return std::bit_cast<double>(hash_from(value));
}

void append_number(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

json describe(const Weights& tensors) {
  json all = json::array();
  for (const Tensor& tensor : tensors) {
    all.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  return all;
}

json describe(const std::vector<Weights>& lists) {
  json all = json::array();
  for (const Weights& tensors : lists) all.push_back(describe(tensors));
  return all;
}

json describe(const EpochReport& report) {
  json metrics = json::array();
  for (const Metric& metric : report.metrics) {
    metrics.push_back({metric.name, bits_of(metric.value)});
  }
  json described = {{"epoch", report.epoch},
                    {"metrics", metrics},
                    {"work", bits_of(report.work)},
                    {"train_s", bits_of(report.train_s)}};
  if (report.step > 0) described["step"] = report.step;  // older versions wrote none
  if (report.part > 0) described["part"] = bits_of(report.part);
  if (!report.is_best) described["best"] = false;
  return described;
}

json describe(const EpochProgress& progress) {
  return {{"steps", progress.steps},
          {"loss", bits_of(progress.loss)},
          {"correct", progress.correct},
          {"train_s", bits_of(progress.train_s)}};
}

std::string header_of(const Checkpoint& checkpoint) {
  json header = {{"trial", checkpoint.trial},
                 {"attempt", checkpoint.attempt},
                 {"arch_hash", to_hex(checkpoint.arch_hash)},
                 {"job_hash", to_hex(checkpoint.job_hash)},
                 {"epoch", checkpoint.epoch},
                 {"step", checkpoint.step},
                 {"part", describe(checkpoint.progress)},
                 {"history", json::array()},
                 {"weights", describe(checkpoint.state.weights)},
                 {"moments", describe(checkpoint.state.moments)}};
  for (const EpochReport& report : checkpoint.history) {
    header["history"].push_back(describe(report));
  }
  const TrainingState& state = checkpoint.state;
  if (!state.average.empty()) header["average"] = describe(state.average);
  if (!state.residuals.empty()) header["residuals"] = describe(state.residuals);
  if (!state.pending.empty()) header["pending"] = describe(state.pending);
  if (!checkpoint.best.empty()) header["best"] = describe(checkpoint.best);
  return compact(header);
}

void append_tensors(std::string& bytes, const Weights& tensors) {
  for (const Tensor& tensor : tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.data.data()),
                 tensor.data.size() * sizeof(float));
  }
}

EpochReport report_from(const json& value) {
  EpochReport report{.epoch = whole_number<int>(value.at("epoch")),
                     .part = value.contains("part") ? double_from(value["part"]) : 0,
                     .metrics = {},
                     .work = double_from(value.at("work")),
                     .train_s = double_from(value.at("train_s")),
                     .step = value.contains("step") ? whole_number<std::int64_t>(value["step"]) : 0,
                     .is_best = value.value("best", true)};
  for (const json& metric : value.at("metrics")) {
    report.metrics.push_back({metric.at(0).get<std::string>(), double_from(metric.at(1))});
  }
  return report;
}

EpochProgress progress_from(const json& value) {
  return {.steps = whole_number<std::int64_t>(value.at("steps")),
          .loss = double_from(value.at("loss")),
          .correct = whole_number<std::int64_t>(value.at("correct")),
          .train_s = double_from(value.at("train_s"))};
}

char version_of(const Checkpoint& checkpoint) {
  const TrainingState& state = checkpoint.state;
  if (!checkpoint.best.empty()) return kWithBest;
  if (!state.residuals.empty() || !state.pending.empty()) return kGrouped;
  return state.average.empty() ? kPlain : kAveraged;
}

// Removes the described tensors from the front of `data`; throws if `data` is too short.
Weights take_tensors(const json& described, std::string_view& data) {
  Weights tensors;
  for (const json& one : described) {
    Tensor tensor{one.at("name").get<std::string>(), {}, {}};
    for (const json& extent : one.at("shape").get_ref<const json::array_t&>())
      tensor.shape.push_back(whole_number<std::int64_t>(extent));
    std::uint64_t elements = 1;
    for (std::int64_t extent : tensor.shape) {
      const std::uint64_t most = data.size() / sizeof(float);
      if (extent < 1 || elements > most / static_cast<std::uint64_t>(extent)) {
        throw json::other_error::create(501, tensor.name + " has more numbers than the file",
                                        nullptr);
      }
      elements *= static_cast<std::uint64_t>(extent);
    }
    tensor.data.resize(elements);
    std::memcpy(tensor.data.data(), data.data(), elements * sizeof(float));
    data.remove_prefix(elements * sizeof(float));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<Weights> take_lists(const json& described, std::string_view& data) {
  std::vector<Weights> lists;
  for (const json& one : described) lists.push_back(take_tensors(one, data));
  return lists;
}

// Returns the checkpoint of a header and its tensors. Throws json's exceptions.
Checkpoint contents_of(const json& header, std::string_view data) {
  Checkpoint checkpoint{.trial = whole_number<TrialId>(header.at("trial")),
                        .attempt = whole_number<int>(header.at("attempt")),
                        .arch_hash = hash_from(header.at("arch_hash")),
                        .job_hash = hash_from(header.at("job_hash")),
                        .epoch = whole_number<int>(header.at("epoch")),
                        .step = whole_number<std::int64_t>(header.at("step")),
                        .progress = progress_from(header.at("part")),
                        .history = {},
                        .state = {}};
  for (const json& report : header.at("history")) {
    checkpoint.history.push_back(report_from(report));
  }
  checkpoint.state.weights = take_tensors(header.at("weights"), data);
  checkpoint.state.moments = take_lists(header.at("moments"), data);
  if (header.contains("average")) {
    checkpoint.state.average = take_tensors(header.at("average"), data);
  }
  if (header.contains("residuals"))
    checkpoint.state.residuals = take_lists(header.at("residuals"), data);
  if (header.contains("pending")) checkpoint.state.pending = take_lists(header.at("pending"), data);
  if (header.contains("best")) checkpoint.best = take_tensors(header.at("best"), data);
  if (!data.empty()) throw json::other_error::create(501, "bytes follow the tensors", nullptr);
  return checkpoint;
}

}  // namespace

std::string to_bytes(const Checkpoint& checkpoint) {
  const std::string header = header_of(checkpoint);
  const TrainingState& state = checkpoint.state;
  std::string bytes(kMagic);
  bytes += version_of(checkpoint);
  append_number(bytes, header.size());
  bytes += header;
  append_tensors(bytes, state.weights);
  for (const Weights& moment : state.moments) append_tensors(bytes, moment);
  append_tensors(bytes, state.average);
  for (const Weights& residual : state.residuals) append_tensors(bytes, residual);
  for (const Weights& sum : state.pending) append_tensors(bytes, sum);
  append_tensors(bytes, checkpoint.best);
  append_number(bytes, hash64(bytes));
  return bytes;
}

tl::expected<Checkpoint, CheckpointFlaw> from_bytes(std::string_view bytes) {
  if (bytes.size() < kHeaderStart + sizeof(std::uint64_t)) return damaged("it is cut");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  if (!body.starts_with(kMagic)) return damaged("it does not start with DETOLCK");
  if (hash64(body) != number_at(bytes, body.size())) return damaged("its checksum is wrong");
  const char version = body[kMagic.size()];
  if (version < kPlain || version > '9') return damaged("no detol ever wrote its version");
  if (version > kWithBest) {
    return tl::unexpected<CheckpointFlaw>(CheckpointFlaw{
        true,
        fmt::format("it has format version {}, this detol reads up to {}", version, kWithBest)});
  }
  const std::uint64_t length = number_at(body, kMagic.size() + 1);
  if (length > std::min(kLongestHeader, body.size() - kHeaderStart)) {
    return damaged("its header is longer than the file or 128 MB");
  }
  const auto header =
      parse_json(body.substr(kHeaderStart, length), "its header", {.bytes = kLongestHeader});
  if (!header) return damaged(header.error().message);
  try {
    return contents_of(*header, body.substr(kHeaderStart + length));
  } catch (const json::exception& error) {
    return damaged(printable_excerpt(error.what()));
  }
}

}  // namespace detol::inline trainer
