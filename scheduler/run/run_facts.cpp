#include "scheduler/run/run_facts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "core/hash.h"
#include "core/host.h"
#include "core/json_text.h"
#include "core/usable.h"
#include "scheduler/launchers/local.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

// Returns the name of the process's user, or its number.
std::string this_user() {
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(::geteuid());
}

std::string text_of(const Json& fields) {
  return compact(fields);
}

Fact host_fact(const RunOptions& options) {
  Json gpus = Json::array();
  for (const Gpu& gpu : options.gpus) gpus.push_back(gpu.name);
  Json fields{{"name", host_name()},
              {"cpu", processor_name()},
              {"cores", usable_cores().of_machine},
              {"gpus", std::move(gpus)}};
  std::string key = to_hex(hash64(text_of(fields)));
  // Not part of the key: another kernel keeps another share of it for itself.
  fields["memory"] = usable_memory().of_machine;
  return {kHostFact, std::move(key), text_of(fields)};
}

}  // namespace

std::vector<Fact> run_facts(const RunOptions& options, const std::string& study, double at_s) {
  Fact host = host_fact(options);
  const Json fields{{"study", study},
                    {"at", at_s},
                    {"command", options.resume ? "resume" : "search"},
                    {"version", DETOL_VERSION},
                    {"user", this_user()},
                    {"host", host.key},
                    {"backend", options.config.trains() ? options.backend : ""},
                    {"workers", workers_of(options)}};
  std::random_device device;
  const std::uint64_t key = std::uint64_t{device()} << 32 | device();
  return {std::move(host), Fact{kRunFact, to_hex(key), text_of(fields)}};
}

}  // namespace detol::inline scheduler
