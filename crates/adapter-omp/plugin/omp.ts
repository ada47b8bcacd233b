// OMP's events. The extension is loaded once more for each subagent; the adapter tells these by their session's file.

import type { OmpApi, OmpContext } from "../../adapter-pi/plugin/types.ts";
import type { Answer, Line } from "../../adapter-pi/plugin/reporter.ts";
import { Reporter, bridgeOf, isResumed, lengthOf, quiet, textOf } from "../../adapter-pi/plugin/reporter.ts";

/** The tools that write files. */
const WRITERS: readonly string[] = ["write", "edit", "ast_edit"];

export function reportOmp(omp: OmpApi, file: string): void {
  const log = (message: string): void => {
    omp.logger.warn(message);
  };
  const bridge = bridgeOf("omp", file, log);
  if (bridge === undefined) return;
  const reporter = new Reporter(bridge, omp.pi.VERSION);
  /** The session that this instance is in. */
  let session: Line = {};
  let isAutomatic = false;

  const enter = (context: OmpContext): void => {
    session = {
      session_id: context.sessionManager.getSessionId(),
      transcript_path: context.sessionManager.getSessionFile(),
    };
    reporter.run = {};
  };
  // The old session ends where the new one begins, and no event of its own says so.
  const replace = (event: string, context: OmpContext, source: string): void => {
    reporter.send(event, context, { ...session, left: true });
    enter(context);
    reporter.send(event, context, { source, ...titleInOmp(context) });
  };

  omp.on(
    "session_start",
    quiet((_, context) => {
      enter(context);
      const source = isResumed(context) ? "resume" : "startup";
      reporter.send("session_start", context, { source, ...titleInOmp(context) });
    }),
  );
  omp.on(
    "session_switch",
    quiet((event, context) => {
      replace("session_switch", context, event.reason);
    }),
  );
  omp.on(
    "session_branch",
    quiet((_, context) => {
      replace("session_branch", context, "fork");
    }),
  );
  omp.on(
    "session_shutdown",
    quiet((_, context) => {
      reporter.send("session_shutdown", context, reporter.run);
    }),
  );

  omp.on(
    "before_agent_start",
    quiet((event, context) => {
      reporter.run = {};
      reporter.send("before_agent_start", context, { prompt_chars: lengthOf(event.prompt), ...titleInOmp(context) });
    }),
  );
  omp.on(
    "turn_start",
    quiet(() => {
      reporter.run = {};
    }),
  );
  omp.on(
    "turn_end",
    quiet((event) => {
      reporter.answered(event.message as Answer);
    }),
  );
  omp.on(
    "session_stop",
    quiet((_, context) => {
      reporter.send("session_stop", context, { ...reporter.run, ...titleInOmp(context) });
    }),
  );
  omp.on(
    "agent_end",
    quiet((_, context) => {
      const { outcome } = reporter.run;
      if (outcome === "aborted") reporter.send("agent_end", context, reporter.run);
    }),
  );

  omp.on(
    "tool_execution_start",
    quiet((event, context) => {
      reporter.toolStarts("tool_execution_start", context, event, event.args);
    }),
  );
  omp.on(
    "tool_execution_end",
    quiet((event, context) => {
      const isWriter = WRITERS.includes(event.toolName) && !event.isError;
      reporter.toolEnds("tool_execution_end", context, event, {
        tool_response: textOf(event.result),
        failed: event.isError ? true : undefined,
        files: isWriter ? filesOf(event.result, reporter.inputOf(event)) : undefined,
      });
    }),
  );
  omp.on(
    "tool_approval_requested",
    quiet((event, context) => {
      reporter.send("tool_approval_requested", context, {
        tool_name: event.toolName,
        tool_use_id: event.toolCallId,
        message: event.reason,
      });
    }),
  );
  omp.on(
    "tool_approval_resolved",
    quiet((event, context) => {
      const call = { tool_name: event.toolName, tool_use_id: event.toolCallId };
      reporter.send("tool_approval_resolved", context, call);
    }),
  );

  omp.on(
    "auto_compaction_start",
    quiet(() => {
      isAutomatic = true;
    }),
  );
  omp.on(
    "auto_compaction_end",
    quiet(() => {
      isAutomatic = false;
    }),
  );
  omp.on(
    "session_before_compact",
    quiet((_, context) => {
      reporter.send("session_before_compact", context, { trigger: isAutomatic ? "auto" : "manual" });
    }),
  );
  omp.on(
    "session_compact",
    quiet((_, context) => {
      reporter.send("session_compact", context, { trigger: isAutomatic ? "auto" : "manual" });
    }),
  );

  omp.on(
    "user_bash",
    quiet((_, context) => {
      reporter.send("user_bash", context);
    }),
  );
  omp.on(
    "user_python",
    quiet((_, context) => {
      reporter.send("user_python", context);
    }),
  );
}

function titleInOmp(context: OmpContext): Line {
  const title = context.sessionManager.getSessionName();
  if (title === undefined || title === "") return {};
  return { title, title_by: context.sessionManager.getHeader()?.titleSource === "user" ? "person" : "harness" };
}

/** The files that a call wrote: those that its result names, else the one of its input. */
function filesOf(result: unknown, input: unknown): readonly string[] {
  const details = (result as { details?: unknown } | null | undefined)?.details as
    | { perFileResults?: unknown; fileReplacements?: unknown; path?: unknown; resolvedPath?: unknown }
    | null
    | undefined;
  const several = details?.perFileResults ?? details?.fileReplacements;
  const pathOf = (about: unknown): unknown => (about as { path?: unknown } | null | undefined)?.path;
  const named = Array.isArray(several) ? several.map(pathOf) : [];
  const paths = named.length > 0 ? named : [details?.path ?? details?.resolvedPath ?? pathOf(input)];
  return paths.filter((path) => typeof path === "string");
}
