#include "web/request.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <charconv>

namespace detol::inline web {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kShortestToken = 16;
constexpr std::string_view kTokenCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

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

// Returns a text of a URL's query without its escapes; what is no escape stays.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
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

std::string_view foreign(const HttpRequest& request, const ServedAt& at) {
  if (!is_our_host(request.host, at)) return "the header Host does not name this server";
  if (request.origin && !is_our_origin(*request.origin, at))
    return "a page of another origin may not ask this server";
  return {};
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

Result<std::string> token_from_word(const std::string& word) {
  if (word == "auto") return new_token();
  if (word == "none") return std::string();
  const bool is_plain = word.find_first_not_of(kTokenCharacters) == word.npos;
  if (is_plain && word.size() >= kShortestToken) return word;
  return fail(ErrorCode::kUsage,
              fmt::format("--token must be auto, none, or at least {} letters, digits and -_.~",
                          kShortestToken));
}

void read_target(std::string_view target, HttpRequest& into) {
  const std::size_t question = std::min(target.find('?'), target.size());
  into.path = target.substr(0, question);
  std::string_view rest = target.substr(std::min(question + 1, target.size()));
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equal = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(equal + 1, one.size()));
    into.parameters.emplace(decoded(one.substr(0, equal)), decoded(value));
  }
}

}  // namespace detol::inline web
