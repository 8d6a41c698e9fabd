#include "core/fault.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/table.h"

namespace detol {
namespace {

constexpr std::string_view kProcess = "kill exit hang";
constexpr std::string_view kFile = "kill exit hang enospc eio";

constexpr std::array kSites = {
    FaultSite{"file.write", "a file that must be whole or absent is written", kFile},
    FaultSite{"file.rename", "the finished file takes its name", kFile},
    FaultSite{"checkpoint.write", "a checkpoint is written", "kill exit hang enospc eio corrupt"},
    FaultSite{"train.step", "a training step was made", "kill exit hang throw nan"},
    FaultSite{"train.epoch", "an epoch is validated, its checkpoint not yet written", kProcess},
    FaultSite{"train.report", "a checkpoint is durable, its epoch not yet reported", kProcess},
};

struct ActionRow {
  std::string_view name;
  Fault fault;
};
constexpr std::array kActions = {
    ActionRow{"kill", Fault::kNone},   ActionRow{"exit", Fault::kNone},
    ActionRow{"hang", Fault::kNone},   ActionRow{"enospc", Fault::kNoSpace},
    ActionRow{"eio", Fault::kIoError}, ActionRow{"throw", Fault::kThrow},
    ActionRow{"nan", Fault::kNan},     ActionRow{"corrupt", Fault::kCorrupt},
};

struct Setting {
  std::string site;  // empty: inert
  std::int64_t nth = 0;
  const ActionRow* action = nullptr;
};

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kUsage, fmt::format("DETOL_FAULT={}: {}", text, why));
}

// The words of a space-separated list.
bool has_word(std::string_view list, std::string_view word) {
  return fmt::format(" {} ", list).find(fmt::format(" {} ", word)) != std::string::npos;
}

Result<Setting> parse(std::string_view text) {
  Setting setting;
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos || first == last)
    return bad(text, "write site:nth:action, for example checkpoint.write:3:kill");
  setting.site = text.substr(0, first);
  const std::string_view nth = text.substr(first + 1, last - first - 1);
  const auto [end, error] = std::from_chars(nth.data(), nth.data() + nth.size(), setting.nth);
  if (error != std::errc{} || end != nth.data() + nth.size() || setting.nth < 1)
    return bad(text, "the visit must be a whole number from 1");
  const FaultSite* site = find_row(fault_sites(), setting.site);
  if (site == nullptr)
    return bad(text, unknown_name("site", setting.site, names_of(fault_sites())));
  setting.action = find_row(std::span<const ActionRow>(kActions), text.substr(last + 1));
  if (setting.action == nullptr || !has_word(site->actions, setting.action->name))
    return bad(text, fmt::format("{} takes the actions {}", site->name, site->actions));
  return setting;
}

const Setting& setting() {
  static const Setting kSetting = [] {
    const char* text = std::getenv("DETOL_FAULT");  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr || *text == '\0') return Setting{};
    return parse(text).value_or(Setting{});
  }();
  return kSetting;
}

// True for the first who asks, over all processes that share the mark; without a mark, always.
bool takes_the_mark() {
  const char* path = std::getenv("DETOL_FAULT_MARK");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return true;
  const int fd = ::open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

Fault act(const ActionRow& action) {
  if (action.name == "kill") ::kill(::getpid(), SIGKILL);
  if (action.name == "exit") ::_exit(1);
  while (action.name == "hang") ::pause();
  return action.fault;
}

}  // namespace

std::span<const FaultSite> fault_sites() {
  return kSites;
}

Fault fault(std::string_view site) {
  const Setting& wanted = setting();
  if (wanted.action == nullptr || wanted.site != site) return Fault::kNone;
  static std::atomic<std::int64_t> visits{0};
  if (++visits != wanted.nth || !takes_the_mark()) return Fault::kNone;
  return act(*wanted.action);
}

int errno_of(Fault fault) {
  if (fault == Fault::kNoSpace) return ENOSPC;
  return fault == Fault::kIoError ? EIO : 0;
}

Result<void> check_fault_setting() {
  const char* text = std::getenv("DETOL_FAULT");  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || *text == '\0') return {};
  if (const auto parsed = parse(text); !parsed) return tl::unexpected(parsed.error());
  return {};
}

}  // namespace detol
