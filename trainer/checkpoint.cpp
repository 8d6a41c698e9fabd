#include "trainer/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <compare>
#include <cstdio>
#include <functional>
#include <limits>
#include <utility>

#include "core/descriptor.h"
#include "core/durable_file.h"
#include "core/fault.h"
#include "core/file.h"
#include "core/log.h"
#include "trainer/checkpoint_format.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptEpochs = 2;

// FileName is a parsed file name; ordered by how far the training was.
struct FileName {
  int epoch = 0;
  long long steps = 0;  // of the next epoch
  int attempt = 0;

  bool is_finished_epoch() const { return steps == 0; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in a defaulted <=>
  auto operator<=>(const FileName&) const = default;
};

std::string text_of(const FileName& name) {
  if (name.is_finished_epoch()) return fmt::format("epoch-{}.a{}.ckpt", name.epoch, name.attempt);
  return fmt::format("epoch-{}-step-{}.a{}.ckpt", name.epoch, name.steps, name.attempt);
}

FileName name_of(const Checkpoint& checkpoint) {
  return {checkpoint.epoch, checkpoint.progress.steps, checkpoint.attempt};
}

std::optional<FileName> name_from(const std::string& text) {
  FileName name;
  if (std::sscanf(text.c_str(), "epoch-%d-step-%lld.a%d", &name.epoch, &name.steps,
                  &name.attempt) != 3) {
    name = {};
    if (std::sscanf(text.c_str(), "epoch-%d.a%d", &name.epoch, &name.attempt) != 2)
      return std::nullopt;
  }
  if (text_of(name) != text) return std::nullopt;
  return name;
}

// Returns whether the file is of exactly that finished epoch, or, for a fraction, inside that
// epoch.
bool is_of(const FileName& name, double epochs) {
  const bool is_part = epochs != std::floor(epochs);
  return name.epoch == static_cast<int>(epochs) && name.is_finished_epoch() != is_part;
}

// Returns the checkpoints of attempts up to `attempt`, the furthest first, among equals the highest
// attempt.
std::vector<FileName> files_in(const fs::path& folder, int attempt) {
  std::vector<FileName> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const auto name = name_from(entry->path().filename().string());
    if (name && name->attempt <= attempt) names.push_back(*name);
  }
  std::ranges::sort(names, std::greater());
  return names;
}

// Removes the files that killed attempts up to `attempt` left half written.
void remove_unfinished_files(const fs::path& folder, int attempt) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto text = finished_name(entry.path().filename().string());
    const auto name = text ? name_from(*text) : std::nullopt;
    if (name && name->attempt <= attempt) fs::remove(entry.path(), ignored);
  }
}

tl::unexpected<Error> refuse_newer(const fs::path& path, const CheckpointFlaw& flaw) {
  return fail(ErrorCode::kStorage,
              fmt::format("{}: {}: use the newer detol that wrote it", path.string(), flaw.reason));
}

// Reads a checkpoint. A file that cannot be read, or a whole one under another's name, counts as
// damaged.
tl::expected<Checkpoint, CheckpointFlaw> checkpoint_in(const fs::path& folder,
                                                       const FileName& name) {
  const auto bytes = read_file(folder / text_of(name));
  if (!bytes) return tl::unexpected(CheckpointFlaw{false, bytes.error().message});
  auto checkpoint = from_bytes(*bytes);
  if (checkpoint && name_of(*checkpoint) != name)
    return tl::unexpected(CheckpointFlaw{false, "it is not what its name says"});
  return checkpoint;
}

void set_aside(const fs::path& path, const CheckpointFlaw& flaw) {
  std::error_code error;
  fs::rename(path, path.string() + ".bad", error);
  log_warning("{}: unusable checkpoint ({}); {}, going back to the one before", path.string(),
              flaw.reason, error ? "it could not be set aside" : "kept as .bad");
}

Result<void> write_bytes(const fs::path& path, std::string bytes) {
  const Fault trouble = fault("checkpoint.write");
  if ((errno = errno_of(trouble)) != 0) return cannot("write", path, ErrorCode::kStorage);
  if (trouble == Fault::kCorrupt) bytes[bytes.size() / 2] ^= 1;
  return write_file_durably(path, bytes);
}

// Removes the checkpoints that `written` replaces, and what killed attempts left half written;
// errors are ignored, as extra files are harmless.
void clean_up(const fs::path& folder, const FileName& written) {
  std::error_code ignored;
  std::vector<int> kept;  // finished epochs
  for (const FileName& name : files_in(folder, written.attempt)) {
    if (name > written) continue;
    const bool is_new = name.is_finished_epoch() && (kept.empty() || kept.back() != name.epoch);
    if (is_new) kept.push_back(name.epoch);
    if (name == written || (is_new && kept.size() <= kKeptEpochs)) continue;
    fs::remove(folder / text_of(name), ignored);
  }
  remove_unfinished_files(folder, written.attempt);
}

}  // namespace

bool is_at_best(const Checkpoint& checkpoint) {
  const std::vector<EpochReport>& history = checkpoint.history;
  return !history.empty() && history.back().is_best && history.back().step == checkpoint.step;
}

const Weights& best_weights(const Checkpoint& checkpoint) {
  return checkpoint.best.empty() ? scored_weights(checkpoint.state) : checkpoint.best;
}

const EpochReport* best_report(const Checkpoint& checkpoint) {
  const auto found = std::ranges::find_if(checkpoint.history.rbegin(), checkpoint.history.rend(),
                                          &EpochReport::is_best);
  return found == checkpoint.history.rend() ? nullptr : &*found;
}

Result<void> write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot("create", folder, ErrorCode::kStorage, error);
  const FileName name = name_of(checkpoint);
  DETOL_TRY(write_bytes(folder / text_of(name), to_bytes(checkpoint)));
  clean_up(folder, name);
  return {};
}

Result<std::optional<Checkpoint>> newest_checkpoint(const fs::path& folder, int attempt) {
  for (const FileName& name : files_in(folder, attempt)) {
    const fs::path path = folder / text_of(name);
    auto checkpoint = checkpoint_in(folder, name);
    if (checkpoint) return std::optional(std::move(*checkpoint));
    if (checkpoint.error().newer) return refuse_newer(path, checkpoint.error());
    set_aside(path, checkpoint.error());
  }
  return std::optional<Checkpoint>();
}

Result<Checkpoint> read_checkpoint(const fs::path& folder, double epochs) {
  const std::vector<FileName> names = files_in(folder, std::numeric_limits<int>::max());
  auto name = std::ranges::find_if(names, [&](const FileName& n) { return is_of(n, epochs); });
  if (name == names.end())  // a training that was suspended inside the next epoch
    name = std::ranges::find(names, static_cast<int>(epochs), &FileName::epoch);
  if (name == names.end()) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: no checkpoint of epoch {:.4g}", folder.string(), epochs));
  }
  const fs::path path = folder / text_of(*name);
  auto checkpoint = checkpoint_in(folder, *name);
  if (checkpoint) return std::move(*checkpoint);
  if (checkpoint.error().newer) return refuse_newer(path, checkpoint.error());
  return fail(ErrorCode::kStorage, fmt::format("{}: unusable checkpoint ({})", path.string(),
                                               checkpoint.error().reason));
}

Result<void> set_aside_checkpoints(const fs::path& folder, int attempt) {
  for (const FileName& name : files_in(folder, attempt)) {
    const fs::path path = folder / text_of(name);
    std::error_code error;
    fs::rename(path, path.string() + ".bad", error);
    if (!error) continue;
    return fail(ErrorCode::kStorage,
                fmt::format("cannot rename {}: {}", path.string(), error.message()));
  }
  return {};
}

void remove_checkpoints(const fs::path& folder, double but_of_epochs) {
  constexpr int kAnyAttempt = std::numeric_limits<int>::max();
  std::error_code ignored;
  bool has_part = false;
  for (const FileName& name : files_in(folder, kAnyAttempt)) {
    const bool is_kept =
        is_of(name, but_of_epochs) && (name.is_finished_epoch() || !std::exchange(has_part, true));
    if (!is_kept) fs::remove(folder / text_of(name), ignored);
  }
  remove_unfinished_files(folder, kAnyAttempt);
}

}  // namespace detol::inline trainer
