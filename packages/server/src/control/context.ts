/**
 * What handlers of the control interface receive: core's contexts, in which the "drivers of the outside world" are what this
 * interface acts upon. Of the worlds: all of them; below one world: that one.
 */

import type { OperationSet } from '@hyperplane/contract'
import type { ReadContext, WriteContext } from '../core/context.ts'
import type { Domain, DomainParts, Handlers } from '../core/handlers.ts'
import type { RequestInput } from '../core/input/request-input.ts'
import type { Instance } from '../instance/instance.ts'
import type { Table } from '../store/tables.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { Worlds } from '../worlds/worlds.ts'
import type { RuleBook } from './faults/rule-book.ts'
import type { Journal } from './journal/journals.ts'
import type { OwnPorts } from './worlds/own-ports.ts'

/** What is done to worlds as such. */
export interface WorldsDriver {
  readonly worlds: Worlds
  /** Of the stores of worlds. */
  readonly tables: ReadonlyMap<string, Table>
  /** Of the product. */
  readonly version: string
  readonly ports: OwnPorts
  /** The process ends: nobody waits for anything that may take long. */
  readonly ending: AbortSignal
  /** Where clients reach the world without naming it, by its host and by this port of its own. */
  urlsOf(world: string, ownPort: number | undefined): string[]
}

/** What is done within one world. */
export interface WorldDriver {
  readonly world: HostedWorld
  /** Opens it if need be. @throws ApiError 503 when it does not open */
  instance(): Promise<Instance>
  readonly faults: RuleBook
  readonly journal: Journal
  /** Where clients reach the world, `https://localhost:9440`. */
  readonly origin: string
  /** Of the product. */
  readonly version: string
}

export type WorldsContext<T = any> = WriteContext<WorldsDriver, T>
export type WorldsReadContext<T = any> = ReadContext<WorldsDriver, T>
export type WorldContext<T = any> = WriteContext<WorldDriver, T>
export type WorldReadContext<T = any> = ReadContext<WorldDriver, T>

/** Names of what a request changes: requests that share one take turns, from before they are judged until they are answered. */
type TurnsOf = (request: RequestInput) => readonly string[]

export interface ControlDomain<D> extends Domain<D> {
  readonly turns: Readonly<Record<string, TurnsOf>>
}

interface ControlParts<D, S extends OperationSet> extends DomainParts<D, S> {
  readonly turns?: { readonly [K in keyof S]?: TurnsOf }
}

function implementing<D>() {
  return <S extends OperationSet>(
    operations: S,
    handlers: Handlers<D, S>,
    parts: ControlParts<D, S> = {},
  ): ControlDomain<D> & { readonly operations: S } => ({
    operations,
    handlers: handlers as Domain<D>['handlers'],
    rules: (parts.rules ?? {}) as Domain<D>['rules'],
    prepares: (parts.prepare ?? {}) as Domain<D>['prepares'],
    tasks: [],
    presenters: parts.present ?? [],
    schedules: parts.schedules ?? [],
    turns: (parts.turns ?? {}) as ControlDomain<D>['turns'],
  })
}

export const implementForWorlds = implementing<WorldsDriver>()
export const implementWithinWorld = implementing<WorldDriver>()
