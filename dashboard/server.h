#pragma once

// The HTTP server of the dashboard:
//
//   GET  /, /page.css, /page.js, /plotly.js      the page; all of it is in the program
//   GET  /api/events                             server-sent events: Panels::studies(), now and
//                                                whenever it changes
//   GET  /api/model?study=S                      Panels::model()
//   GET  /api/trials?study=S&sort=&down=&words=&page=
//   POST /api/action                             request.h, action_of()
//
// Nothing else is answered, and no path is one of a file. With a token, /api/ asks for it in a
// header; without one, actions are refused. Answers to /api/ are JSON; of an error {"error":
// "..."}.

#include <memory>
#include <string>

#include "core/result.h"
#include "dashboard/request.h"
#include "web/request.h"

namespace detol::inline dashboard {

// Panels: what is shown, as JSON texts. Called from several threads at once.
class Panels {
 public:
  virtual ~Panels() = default;
  virtual Result<std::string> studies() = 0;
  virtual Result<std::string> model(const std::string& study) = 0;
  virtual Result<std::string> trials(const std::string& study, const TrialQuery& query) = 0;
  virtual Result<void> act(const Action& action) = 0;
};

class Server {
 public:
  // Listens; port 0 is one that is free. An empty token: everybody who reaches the port may read,
  // and nobody may act. Errors: kUsage for a host that is not loopback without a token; kInput if
  // the address cannot be had; kExport if the program was built without plotly.js.
  static Result<std::unique_ptr<Server>> listen(Panels& panels, ServedAt at, std::string token);
  virtual ~Server() = default;

  virtual ServedAt served_at() const = 0;

  // Answers until stop() is called, from any thread.
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace detol::inline dashboard
