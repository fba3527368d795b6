/** The request that starts the task of a scenario. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly ifMatch?: string
  readonly clusterId?: string
}
