import type { Operation, Resource } from '@hyperplane/contract'
import type { Reader } from '../../store/store.ts'
import type { EntityTags } from '../ids/etag.ts'
import type { AccessControl, Scope } from '../ports.ts'
import { searched, type Trace } from '../recording/trace.ts'
import type { Call, Targets } from './call.ts'
import { readsOf } from './reads.ts'

export function noteDecision(access: AccessControl, trace: Trace): Promise<void> | undefined {
  const { caller, operation, judged } = trace
  if (trace.decision !== undefined || caller === undefined || operation === undefined) return undefined
  const decision = access.explain(caller, operation, judged)
  if (typeof decision === 'string') {
    trace.decision = decision
    return undefined
  }
  return decision.then(
    (reason) => {
      trace.decision = reason
    },
    () => undefined,
  )
}

/** The policy of each row is not named: that would cost a check for every row. */
export function noteScope(trace: Trace, { verb, iamOperation }: Operation, scope: Scope): void {
  if (verb === 'list' && scope !== 'all') trace.decision = `only rows that its policies for ${iamOperation} reach`
}

export function noteTarget(trace: Trace | undefined, kind: Resource, extId: string): void {
  if (trace !== undefined) trace.target = { kind: kind.kind, extId }
}

/** The first created entity counts as the target, if the path names none. */
export function noteCreated(trace: Trace | undefined, { resource }: Operation, created: readonly string[]): void {
  const [extId] = created
  if (trace !== undefined && resource !== undefined && extId !== undefined)
    trace.target ??= { kind: resource.kind, extId }
}

/** @param sent '': a required tag was not sent; undefined: none is required */
export function noteTag(
  trace: Trace | undefined,
  tags: EntityTags,
  sent: string | undefined,
  named: Targets['named'],
): void {
  if (trace === undefined || sent === undefined) return
  trace.precondition = {
    ...(named === undefined ? {} : { expected: tags.of(named.kind.kind, named.entity.extId, named.version) }),
    ...(sent === '' ? {} : { sent }),
  }
}

export function explaining(reader: Reader, { request: { trace }, operation, input }: Call): Reader {
  const { explained } = operation.verb === 'list' ? searched(trace, input.query) : {}
  if (explained === undefined) return reader
  const isListed = (kind: Resource): boolean => kind.kind === operation.resource?.kind
  return {
    ...readsOf(reader),
    find: (kind, query) => reader.find(kind, isListed(kind) ? { ...query, explained } : query),
    page: (kind, query) => reader.page(kind, isListed(kind) ? { ...query, explained } : query),
  }
}
