/** Contexts of core for the control interface: `drivers` holds all worlds, or the world of the operation. */

import type { AnyResource, OperationSet } from '@hyperplane/contract'
import type { ReadContext, WriteContext } from '../core/context.ts'
import type { Domain, DomainParts, Handlers, Request } from '../core/handlers.ts'
import type { Instance } from '../instance/instance.ts'
import type { Table } from '../store/tables.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { Worlds } from '../worlds/worlds.ts'
import type { RuleBook } from './faults/rule-book.ts'
import type { Journal } from './journal/journals.ts'
import type { OwnPorts } from './worlds/own-ports.ts'

export interface WorldsDriver {
  readonly worlds: Worlds
  readonly tables: ReadonlyMap<string, Table>
  readonly version: string
  readonly ports: OwnPorts
  /** Aborted when the process stops: requests must stop waiting. */
  readonly ending: AbortSignal
  /** URLs that reach the world without the header `X-World`: by host name, and by the port of its own. */
  urlsOf(world: string, ownPort: number | undefined): string[]
}

export interface WorldDriver {
  readonly world: HostedWorld
  /** Opens the world if it is closed. @throws ApiError 503 when it does not open */
  instance(): Promise<Instance>
  readonly faults: RuleBook
  readonly journal: Journal
  readonly origin: string
  readonly version: string
}

export type WorldsContext<T = unknown> = WriteContext<WorldsDriver, T>
export type WorldsReadContext<T = unknown> = ReadContext<WorldsDriver, T>
export type WorldContext<T = unknown> = WriteContext<WorldDriver, T>
export type WorldReadContext<T = unknown> = ReadContext<WorldDriver, T>

/** Keys of a mutex: requests that share one run one after another, from validation to answer. */
type TurnsOf<O> = (request: Request<O>) => readonly string[]

export interface ControlDomain<D> extends Domain<D> {
  /** `any`: each operation has a request of its own. */
  readonly turns: Readonly<Record<string, TurnsOf<any>>>
}

interface ControlParts<D, S extends OperationSet, K extends readonly AnyResource[]> extends DomainParts<D, S, K> {
  readonly turns?: { readonly [K in keyof S]?: TurnsOf<S[K]> }
}

function implementing<D>() {
  return <S extends OperationSet, const K extends readonly AnyResource[] = []>(
    operations: S,
    handlers: Handlers<D, S>,
    parts: ControlParts<D, S, K> = {},
  ): ControlDomain<D> & { readonly operations: S } => ({
    operations,
    handlers: handlers as Domain<D>['handlers'],
    rules: (parts.rules ?? {}) as Domain<D>['rules'],
    prepares: (parts.prepare ?? {}) as Domain<D>['prepares'],
    tasks: [],
    presenters: parts.present ?? [],
    computed: parts.computed ?? [],
    schedules: parts.schedules ?? [],
    turns: (parts.turns ?? {}) as ControlDomain<D>['turns'],
  })
}

export const implementForWorlds = implementing<WorldsDriver>()
export const implementWithinWorld = implementing<WorldDriver>()
