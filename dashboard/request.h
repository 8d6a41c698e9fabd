#pragma once

// What a request to the dashboard must be, whoever sends it: a page of another site in the same
// browser, or another user of the same machine. Pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/live_trials.h"

namespace detol::inline dashboard {

// ServedAt: what a client connects to.
struct ServedAt {
  std::string host;  // as it was asked for: an address or a name
  std::uint16_t port = 0;
};

// Returns whether the host is this machine's own device: 127.0.0.0/8, ::1 or localhost.
bool is_loopback(std::string_view host);

// Returns the host and the port as a URL and the header Host have them.
std::string authority_of(const ServedAt& at);

// Returns whether the header Host names the dashboard: by 127.0.0.1, localhost or its own host,
// with its port. Another name that leads here is an attack by DNS rebinding.
bool is_our_host(std::string_view header, const ServedAt& at);

// Returns whether the header Origin is a page of the dashboard itself.
bool is_our_origin(std::string_view header, const ServedAt& at);

// Returns the token of a request, from the header X-Detol-Token, else from `Authorization: Bearer`.
std::string_view token_in(std::string_view own_header, std::string_view authorization);

// Returns whether they are equal, in a time that says nothing of where they differ.
bool is_same_token(std::string_view given, std::string_view token);

// Returns 32 random bytes as 64 hexadecimal digits. Errors (kInternal): the system has none.
Result<std::string> new_token();

// Returns the page of trials that the parameters of a URL ask for: sort, down, words, page. What is
// missing or no number has its default.
TrialQuery trial_query_of(const std::multimap<std::string, std::string>& parameters);

// Action: what a person asks the dashboard to do.
struct Action {
  enum Kind { kNote, kStop, kPrune, kRetry, kBudget } kind = kNote;
  std::string study;
  std::optional<std::uint64_t> trial;  // of kPrune, kRetry and kNote; nullopt: the study
  std::string note;
  std::string more;  // of kBudget: what is added, "+1cpu-h"
};

// Reads a body: {"action": "note"|"stop"|"prune"|"retry"|"budget", "study": "...", "trial": 3,
// "note": "...", "more": "1cpu-h"}. Errors (kInput): it is none, or lacks what its action needs.
Result<Action> action_of(const std::string& body);

}  // namespace detol::inline dashboard
