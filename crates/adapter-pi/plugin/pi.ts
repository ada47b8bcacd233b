// Pi's events. Nothing here may fail in a version that lacks one: an extension that does not load ends Pi.

import type { PiApi, PiContext } from "./types.ts";
import type { Answer, Line } from "./reporter.ts";
import { Reporter, bridgeOf, isResumed, lengthOf, packageVersion, quiet, textOf } from "./reporter.ts";

export function reportPi(pi: PiApi, file: string): void {
  const bridge = bridgeOf("pi", file, () => undefined);
  if (bridge === undefined) return;
  const version = packageVersion();
  const reporter = new Reporter(bridge, version);

  pi.on(
    "session_start",
    quiet((event, context) => {
      const isContinued = event.reason === "startup" && isResumed(context);
      const source = isContinued ? "resume" : event.reason;
      reporter.send("session_start", context, { source, ...titleInPi(context) });
    }),
  );
  pi.on(
    "session_info_changed",
    quiet((_, context) => {
      reporter.send("session_info_changed", context, titleInPi(context));
    }),
  );
  pi.on(
    "session_shutdown",
    quiet((event, context) => {
      reporter.send("session_shutdown", context, { reason: event.reason });
    }),
  );

  pi.on(
    "before_agent_start",
    quiet((event, context) => {
      reporter.run = {};
      // Versions before 1.2.0 have but one kind.
      const isCustom = (event.messageType as string | undefined) === "custom";
      const prompt = "prompt" in event ? { prompt_chars: lengthOf(event.prompt) } : {};
      const by = isCustom ? { prompt_by: "harness" } : prompt;
      reporter.send("before_agent_start", context, { ...by, ...titleInPi(context) });
    }),
  );
  pi.on(
    "turn_start",
    quiet(() => {
      reporter.run = {};
    }),
  );
  pi.on(
    "turn_end",
    quiet((event) => {
      reporter.answered(event.message as Answer);
    }),
  );
  pi.on(
    "agent_end",
    quiet((_, context) => {
      if (!settles(version)) reporter.send("agent_end", context, { ...reporter.run, ...titleInPi(context) });
    }),
  );
  pi.on(
    "agent_settled",
    quiet((event, context) => {
      const run = event.aborted ? { outcome: "aborted" } : reporter.run;
      reporter.send("agent_settled", context, { ...run, ...titleInPi(context) });
    }),
  );

  pi.on(
    "tool_execution_start",
    quiet((event, context) => {
      reporter.toolStarts("tool_execution_start", context, event, event.args);
    }),
  );
  pi.on(
    "tool_execution_end",
    quiet((event, context) => {
      reporter.toolEnds("tool_execution_end", context, event, {
        tool_response: textOf(event.result),
        failed: event.isError ? true : undefined,
        duration_ms: event.durationMs,
      });
    }),
  );

  pi.on(
    "session_before_compact",
    quiet((event, context) => {
      reporter.send("session_before_compact", context, triggerInPi(event.reason));
    }),
  );
  pi.on(
    "session_compact",
    quiet((event, context) => {
      reporter.send("session_compact", context, triggerInPi(event.reason));
    }),
  );

  pi.on(
    "ui_prompt_start",
    quiet((event, context) => {
      reporter.send("ui_prompt_start", context, { message: event.title });
    }),
  );
  pi.on(
    "ui_prompt_end",
    quiet((_, context) => {
      reporter.send("ui_prompt_end", context);
    }),
  );
  pi.on(
    "user_bash",
    quiet((_, context) => {
      reporter.send("user_bash", context);
    }),
  );
}

function titleInPi(context: PiContext): Line {
  const title = context.sessionManager.getSessionName();
  return title === undefined ? {} : { title, title_by: "person" };
}

/** Versions before 0.79 say no reason. */
function triggerInPi(reason: string | undefined): Line {
  return reason === undefined ? {} : { trigger: reason === "manual" ? "manual" : "auto" };
}

/** Whether a version says that a run is followed by no other: since 0.80.4. One that is not known is taken for a new one. */
function settles(version: string | undefined): boolean {
  const [major, minor, patch] = (version ?? "").split(".").map((part) => Number.parseInt(part, 10));
  if (major !== 0 || minor === undefined || patch === undefined) return true;
  return minor > 80 || (minor === 80 && patch >= 4);
}
