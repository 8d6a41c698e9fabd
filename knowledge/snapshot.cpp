#include <algorithm>

#include "core/log.h"
#include "knowledge/backup_impl.h"
#include "knowledge/snapshot_impl.h"
#include "knowledge/storage/file_system.h"

namespace detol::inline knowledge {
namespace {

constexpr double kEveryS = 5;
constexpr double kPauseRatio = 20;  // pause / time of a copy: at most 5 % of the master's time

}  // namespace

std::filesystem::path snapshot_of(const std::filesystem::path& database) {
  return std::filesystem::path(database).replace_extension(".ro.db");
}

Snapshots::Snapshots(std::filesystem::path path, Clock& clock)
    : path_(is_on_network(path) ? std::move(path) : std::filesystem::path()),
      clock_(&clock),
      next_s_(clock.now_s()) {}

void Snapshots::update(PageVerification& pages) {
  const double began_s = clock_->now_s();
  if (path_.empty() || began_s < next_s_) return;
  const auto copied =
      pages.run([&] { return copy_database(pages.database(), snapshot_of(path_)); });
  if (!copied) log_warning("no snapshot for readers: {}", copied.error().message);
  const double took_s = clock_->now_s() - began_s;
  next_s_ = clock_->now_s() + std::max(kEveryS, kPauseRatio * took_s);
}

}  // namespace detol::inline knowledge
