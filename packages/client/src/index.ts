/** The typed client: one method for each operationId, with the names of the specification; waits for tasks. */

export {
  type Answer,
  ApiRefusal,
  type CallOptions,
  type ClientOptions,
  type FetchAnswer,
  type FetchInit,
} from './calls.ts'
export { type Client, createClient, TaskFailure } from './client.ts'
export { type ControlClient, createControlClient } from './control.ts'
