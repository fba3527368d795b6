import type { ApiRequest, Dispatch, Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { Trace } from './trace.ts'

export interface CallRecorder {
  /** undefined: recording is off. @param now world time @param path canonical */
  begin(now: number, sentPath: string, path: string): Trace | undefined
  record(call: EndedCall): void
  elements(dispatch: Dispatch): Dispatch
}

export interface EndedCall {
  readonly request: ApiRequest
  readonly path: string
  readonly outcome?: Outcome | undefined
  readonly refused?: RefusedRequest | undefined
  /** 0: no response was sent. */
  readonly status: number
  readonly body?: string | undefined
  readonly bytes?: Uint8Array | undefined
}
