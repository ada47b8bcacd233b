// The extension itself. Pi and OMP may share a folder of extensions, so one file serves both: it finds out who loads it.

import type { OmpApi, PiApi } from "./types.ts";
import { reportOmp } from "../../adapter-omp/plugin/omp.ts";
import { reportPi } from "./pi.ts";

export default function sessionpipe(api: PiApi | OmpApi): void {
  try {
    if (isOmp(api)) reportOmp(api, import.meta.url);
    else reportPi(api, import.meta.url);
  } catch {
    // Without it the agent works as ever.
  }
}

/** OMP gives its extensions more: its logger, and its own package. */
function isOmp(api: PiApi | OmpApi): api is OmpApi {
  return "logger" in api && "pi" in api;
}
