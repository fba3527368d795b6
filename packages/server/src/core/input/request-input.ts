import type { Field, Selection, TypedFilter, TypedOrderby } from '../../odata/index.ts'

export interface RequestInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: QueryOptions
  readonly body: unknown
  /** Fields of the body that were absent and have their default. */
  readonly defaulted?: readonly string[]
  readonly headers: {
    readonly ifMatch?: string
    readonly requestId?: string
    readonly clusterId?: string
    readonly lastEventId?: string
    readonly range?: string
  }
  /** Paths of files with form parts, by name. A handler may move a file away to keep it. */
  readonly files?: Readonly<Record<string, string>>
  readonly prepared?: unknown
}

export interface QueryOptions {
  readonly page: number
  readonly limit: number
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
  readonly expand: readonly ExpandOption[]
  readonly groupby?: readonly Field[]
  readonly dryRun: boolean
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface ExpandOption {
  readonly name: string
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
}
