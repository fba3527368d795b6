/** How the calls of a world reach whoever records them. */
import type { ApiRequest, Dispatch, Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { Trace } from './trace.ts'

/** Whoever records the calls of a world. */
export interface CallRecorder {
  /**
   * For a request that has come; undefined: nobody records now.
   * @param now world time, in milliseconds since 1970
   * @param sentPath as the client wrote it; `path` is the same in canonical names
   */
  begin(now: number, sentPath: string, path: string): Trace | undefined
  /** Once its answer is on its way. A request without a trace is none of those recorded. */
  record(call: EndedCall): void
  /** Elements of batches never come by the sockets: the same pipeline, which records them. */
  elements(dispatch: Dispatch): Dispatch
}

/** A call whose answer is known. */
export interface EndedCall {
  readonly request: ApiRequest
  /** With what stands before all paths, `/api`. */
  readonly path: string
  readonly outcome?: Outcome | undefined
  readonly refused?: RefusedRequest | undefined
  /** 0: there was no answer. */
  readonly status: number
  /** Text of the answer, where it has one. */
  readonly body?: string | undefined
}
