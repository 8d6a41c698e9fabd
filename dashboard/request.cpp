#include "dashboard/request.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace detol::inline dashboard {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kLongestWords = 200;

// The actions, in the order of Action::Kind.
constexpr std::array<std::string_view, 5> kActions = {"note", "stop", "prune", "retry", "budget"};

// Returns the host with the port behind it; an IPv6 address stands in brackets.
std::string with_port(std::string_view host, std::uint16_t port) {
  const bool is_bare = host.find(':') != host.npos && !host.starts_with('[');
  return is_bare ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

std::string authority_of(const ServedAt& at) {
  return with_port(at.host, at.port);
}

bool is_our_host(std::string_view header, const ServedAt& at) {
  const std::string given = lower(header);
  for (const std::string_view host :
       {std::string_view("127.0.0.1"), std::string_view("localhost"), std::string_view(at.host)})
    if (given == lower(with_port(host, at.port))) return true;
  return false;
}

bool is_our_origin(std::string_view header, const ServedAt& at) {
  constexpr std::string_view kScheme = "http://";
  return header.starts_with(kScheme) && is_our_host(header.substr(kScheme.size()), at);
}

std::string_view token_in(std::string_view own_header, std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  if (!own_header.empty() || !authorization.starts_with(kBearer)) return own_header;
  return authorization.substr(kBearer.size());
}

bool is_same_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(token[i] ^ other));
  }
  return difference == 0;
}

Result<std::string> new_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::kInternal, "the system has no random numbers for a token");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

TrialQuery trial_query_of(const std::multimap<std::string, std::string>& parameters) {
  const auto text = [&](const char* key) {
    const auto found = parameters.find(key);
    return found != parameters.end() ? found->second : std::string();
  };
  TrialQuery query;
  if (!text("sort").empty()) query.sort = text("sort");
  query.is_descending = text("down") != "0";
  query.words = text("words").substr(0, kLongestWords);
  const std::string page = text("page");
  std::uint32_t number = 0;
  if (std::from_chars(page.data(), page.data() + page.size(), number).ec == std::errc())
    query.page = number;
  return query;
}

Result<Action> action_of(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  const auto refused = [](const char* why) { return fail(ErrorCode::kInput, why); };
  if (!json.is_object()) return refused("the body must be a JSON object");
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Action action{.study = text("study"), .trial = {}, .note = text("note"), .more = text("more")};
  if (action.study.empty()) return refused("the body names no study");
  const auto kind = std::ranges::find(kActions, text("action"));
  if (kind == kActions.end()) return refused("`action` must be note, stop, prune, retry or budget");
  action.kind = static_cast<Action::Kind>(kind - kActions.begin());
  const bool is_of_a_trial = action.kind == Action::kPrune || action.kind == Action::kRetry;
  if (action.kind == Action::kNote && !json.contains("note"))
    return refused("the body has no note");
  if (action.kind == Action::kBudget && action.more.empty())
    return refused("the body does not say how much more");
  if (action.kind == Action::kBudget && !action.more.starts_with('+')) action.more.insert(0, "+");
  const auto trial = json.find("trial");
  if (trial == json.end() && is_of_a_trial) return refused("the body names no trial");
  if (trial == json.end()) return action;
  if (!trial->is_number_unsigned()) return refused("`trial` must be the number of a trial");
  action.trial = trial->get<std::uint64_t>();
  return action;
}

}  // namespace detol::inline dashboard
