#pragma once

// HttpServer: an HTTP/1.1 server for few people that strangers cannot wear out. One thread reads
// and writes all connections, and others answer, so that who is slow holds up nobody:
//
//   - a request has ten seconds for all of its bytes, its head 16 kB, its body what the options
//   say;
//   - at most 256 connections, 192 of one address: another one ends the oldest;
//   - who may not ask is refused by the head, before the body is read; bodies take 64 MB together;
//   - an answer ends its connection.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "web/request.h"

namespace detol::inline web {

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::string_view constant = {};  // stands for the body; outlives the server
  std::string headers = {};        // more of them, each with its line end
  // Server-sent events instead of a body: called every half second, on one of the threads, for what
  // is to be sent now. nullopt ends the connection.
  std::function<std::optional<std::string>()> news = nullptr;
};

// Returns {"error": why}.
HttpResponse refused(int status, std::string_view why);

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // Called with the head of a request, on the server's thread: returns at once an answer that needs
  // neither its body nor any time, a refusal above all.
  virtual std::optional<HttpResponse> answer_head(const HttpRequest& head) = 0;

  // Called with the whole request, on one of the threads.
  virtual HttpResponse answer(const HttpRequest& request) = 0;
};

struct HttpOptions {
  ServedAt at;                   // port 0: one that is free
  int threads = 1;               // that answer
  std::size_t largest_body = 0;  // bytes
  std::string headers = {};      // of every answer, each with its line end
  std::chrono::milliseconds patience = std::chrono::seconds(10);  // for a whole request
};

class HttpServer {
 public:
  // Listens. The handler outlives the server. Errors (kInput): the address cannot be had.
  static Result<std::unique_ptr<HttpServer>> listen(HttpHandler& handler, HttpOptions options);
  ~HttpServer();

  ServedAt served_at() const;

  // Answers until stop() is called, from any thread. Called once.
  void run();
  void stop();

 private:
  class Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace detol::inline web
