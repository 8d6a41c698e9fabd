#pragma once

// A small HTTP server on this machine that answers with a trained network, to try it: not for many.
//
//   GET /      what to send, as text
//   POST /     the body is what `detol predict --data` reads: a CSV file, one picture, a .npy
//   array;
//              of a table also a JSON object {"column": value}, or a list of them, one for each
//              row. The answer is a JSON list, as -f json gives it; {"error": "..."} with status
//              400 if the body is not what the network reads, 413 if it has more than 16 MB.
//
// Who asks needs the token (`Authorization: Bearer TOKEN`), and may be no page of another site
// (web/request.h).

#include <cstdint>
#include <string>

#include "models/predictions.h"

namespace detol::inline models {

// Answers requests on 127.0.0.1 at that port until a signal ends the process; an empty token: those
// of everybody on this machine. Port 0: one that is free. Prints how to ask, and logs the address.
// Errors (kInput): the port is taken.
Result<void> serve_predictions(const Predictor& predictor, std::uint16_t port,
                               const std::string& token);

// Returns the answer to a body, as rows. Errors (kInput): it is not what the network reads.
Result<Rows> answer_body(const Predictor& predictor, const std::string& body);

}  // namespace detol::inline models
