/** Requests wait while another instance takes over. Source: behaviour platform.md 9 (switch). */
import { ApiError } from '../api-error.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { CanonicalNames } from '../ports.ts'

export interface Gate {
  readonly dispatch: Dispatch
  open(dispatch: Dispatch): void
  /** Reads of these tasks are still answered. Resolves when no request is running. */
  refuse(taskExtIds: readonly string[]): Promise<void>
  admit(): void
  /** New requests wait for the next `open`. Resolves when no request is running. */
  hold(): Promise<void>
}

const oneTask = /^\/platform\/v4\.\d+\/config\/tasks\/([^/]+)$/
const retryAfterSeconds = 2

export function createGate(names: CanonicalNames): Gate {
  let target: Dispatch | undefined
  let opened = Promise.withResolvers<void>()
  let readableTasks: ReadonlySet<string> | undefined
  let pendingCount = 0
  const drains: (() => void)[] = []

  const isReadableTask = ({ method, path, profile }: ApiRequest): boolean => {
    const [, written] = oneTask.exec(path) ?? []
    const extId = written === undefined ? undefined : names.taskId(profile, decoded(written))
    return (method === 'GET' || method === 'HEAD') && extId !== undefined && readableTasks?.has(extId) === true
  }
  const drained = async (): Promise<void> => {
    while (pendingCount > 0) await new Promise<void>((resolve) => drains.push(resolve))
  }
  const leave = (): void => {
    pendingCount--
    if (pendingCount === 0) for (const drained of drains.splice(0)) drained()
  }
  const enter = (request: ApiRequest, dispatch: Dispatch): Outcome | Promise<Outcome> => {
    const answer = dispatch(request)
    if (!(answer instanceof Promise)) return answer
    pendingCount++
    answer.then(leave, leave)
    return answer
  }
  const wait = async (request: ApiRequest): Promise<Outcome> => {
    for (;;) {
      if (readableTasks !== undefined && !isReadableTask(request)) throw refusal()
      // No await between the check and the count in `enter`.
      if (target !== undefined) return enter(request, target)
      await opened.promise
    }
  }
  return {
    // The gate is nearly always open: no extra promise in that case.
    dispatch: (request) =>
      readableTasks === undefined && target !== undefined ? enter(request, target) : wait(request),
    open(dispatch) {
      readableTasks = undefined
      target = dispatch
      opened.resolve()
    },
    refuse(taskExtIds) {
      readableTasks = new Set(taskExtIds)
      return drained()
    },
    admit() {
      readableTasks = undefined
    },
    hold() {
      // Requests that already wait keep waiting on the same promise.
      if (target !== undefined) opened = Promise.withResolvers()
      target = undefined
      return drained()
    },
  }
}

function refusal(): RefusedRequest {
  const error = new ApiError('SERVICE_UNAVAILABLE', { fault: 'A restore is about to end: ask again in a moment.' })
  error.headers['Retry-After'] = String(retryAfterSeconds)
  return new RefusedRequest(error, undefined, undefined, {})
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
