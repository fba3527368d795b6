import type { Field, Selection, TypedFilter, TypedOrderby } from '../../odata/index.ts'

export interface RequestInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: QueryOptions
  readonly body: unknown
  readonly headers: {
    readonly ifMatch?: string
    readonly requestId?: string
    readonly clusterId?: string
    readonly lastEventId?: string
  }
  /** Paths of form parts that are kept in files, by name. A handler may move a file away to keep it. */
  readonly files?: Readonly<Record<string, string>>
  readonly prepared?: unknown
}

/** Query options after validation, parsed. */
export interface QueryOptions {
  readonly page: number
  readonly limit: number
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
  readonly expand: readonly ExpandOption[]
  /** `$apply=groupby(…)`: the fields whose distinct combinations are answered. */
  readonly groupby?: readonly Field[]
  readonly dryRun: boolean
  /** Further parameters that the operation declares. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface ExpandOption {
  readonly name: string
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
}
