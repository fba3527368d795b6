/** The recorder of the calls of a world. */
import type { ApiRequest, Dispatch, Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { Trace } from './trace.ts'

export interface CallRecorder {
  /**
   * A trace for a new request; undefined: recording is off.
   * @param now world time, in milliseconds since 1970
   * @param sentPath path as the client sent it; `path` is the canonical form
   */
  begin(now: number, sentPath: string, path: string): Trace | undefined
  /** Records a call after its response. Requests without a trace are not recorded. */
  record(call: EndedCall): void
  /** Wraps the pipeline of batch elements, which do not pass HTTP, so that they are recorded. */
  elements(dispatch: Dispatch): Dispatch
}

export interface EndedCall {
  readonly request: ApiRequest
  /** With the prefix of all paths, `/api`. */
  readonly path: string
  readonly outcome?: Outcome | undefined
  readonly refused?: RefusedRequest | undefined
  /** 0: no response was sent. */
  readonly status: number
  readonly body?: string | undefined
}
