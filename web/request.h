#pragma once

// Who may ask a server of this program: a page of another site in the same browser, or another user
// of the same machine, may not. Pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline web {

// ServedAt: what a client connects to.
struct ServedAt {
  std::string host;  // as it was asked for: an address or a name
  std::uint16_t port = 0;
};

// HttpRequest: what of a request counts.
struct HttpRequest {
  std::string method;                                       // "GET"
  std::string path;                                         // of the target, as it was sent
  std::multimap<std::string, std::string> parameters = {};  // of the target, decoded
  std::string host = {};                                    // the headers
  std::optional<std::string> origin = {};
  std::string token = {};  // of X-Detol-Token, else of `Authorization: Bearer`
  std::string body = {};
};

// Returns whether the host is this machine's own device: 127.0.0.0/8, ::1 or localhost.
bool is_loopback(std::string_view host);

// Returns the host and the port as a URL and the header Host have them.
std::string authority_of(const ServedAt& at);

// Returns whether the header Host names the server: by 127.0.0.1, localhost or its own host, with
// its port. Another name that leads here is an attack by DNS rebinding.
bool is_our_host(std::string_view header, const ServedAt& at);

// Returns whether the header Origin is a page of the server itself.
bool is_our_origin(std::string_view header, const ServedAt& at);

// Returns why a browser or a program may not ask this server at all, by Host and Origin; empty if
// it may.
std::string_view foreign(const HttpRequest& request, const ServedAt& at);

// Returns the token of a request, from the header X-Detol-Token, else from `Authorization: Bearer`.
std::string_view token_in(std::string_view own_header, std::string_view authorization);

// Returns whether they are equal, in a time that says nothing of where they differ.
bool is_same_token(std::string_view given, std::string_view token);

// Returns 32 random bytes as 64 hexadecimal digits. Errors (kInternal): the system has none.
Result<std::string> new_token();

// Returns the token that --token asks for: a new one for `auto`, none (empty) for `none`, or its
// own words. Errors (kUsage): it is short, or has other characters than a URL.
Result<std::string> token_from_word(const std::string& word);

// Reads the path and the parameters of a request's target.
void read_target(std::string_view target, HttpRequest& into);

}  // namespace detol::inline web
