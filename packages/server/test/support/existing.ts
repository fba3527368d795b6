/** Paths of operations with the ids of entities that a world has, generated from the contract. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { contract, type Operation, type Resource } from '@hyperplane/contract'
import type { TestApp } from './start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)
export const resources = new Map(contract.flatMap((namespace) => namespace.resources).map((kind) => [kind.kind, kind]))

export const valueAt = (entity: any, path: string): any => path.split('/').reduce((at, name) => at?.[name], entity)

/** Values of the path's parameters that name stored entities, the innermost under its parent; undefined: the demo has none. */
export async function existing(app: TestApp, operation: Operation): Promise<Record<string, string> | undefined> {
  const values: Record<string, string> = {}
  const { parent, kind: listed } = operation.resource ?? {}
  if (operation.verb === 'list' && parent !== undefined && operation.path.includes(`{${parent.param}}`)) {
    const stored =
      operation.resource?.derived === true
        ? []
        : await app.store.find(resources.get(listed as string) as Resource, { limit: 1 })
    if (stored[0] !== undefined) values[parent.param] = valueAt(stored[0], parent.field)
  }
  for (const [parameter, name] of Object.entries(operation.pathKinds).reverse()) {
    const kind = resources.get(name)
    if (values[parameter] !== undefined || kind === undefined || kind.derived === true) continue
    const [entity] = await app.store.find(kind, { limit: 1 })
    if (entity === undefined) return undefined
    values[parameter] = (entity as any).extId
    const parentId = kind.parent === undefined ? undefined : valueAt(entity, kind.parent.field)
    if (kind.parent !== undefined && parentId !== undefined) values[kind.parent.param] = parentId
  }
  // A list below a derived entity names it before its last segment.
  const last = /\{(\w+)\}(\/[\w-]+)?$/.exec(withoutAction(operation))?.[1]
  return last === undefined || values[last] !== undefined ? values : await derived(app, operation, last)
}

const withoutAction = ({ path }: Operation): string => path.replace(/\/\$actions\/.*/, '')

/** A row that is not stored under its own id: one of its parent's list, else one of the parent's document. */
async function derived(
  app: TestApp,
  operation: Operation,
  parameter: string,
): Promise<Record<string, string> | undefined> {
  const [, parentParameter, rows] = /\{(\w+)\}\/([\w-]+)\/\{\w+\}(?:\/[\w-]+)?$/.exec(withoutAction(operation)) ?? []
  const parentKind = resources.get(operation.pathKinds[parentParameter ?? ''] ?? '')
  if (operation.path.endsWith(`/{${parameter}}`) && !operation.path.replace(`{${parameter}}`, '').includes('{')) {
    const list = `/${operation.namespace}/${operation.versions[0]}${dirname(operation.path)}`
    const [first] = (await app.call('GET', list)).data ?? []
    return first && { [parameter]: first.extId }
  }
  if (parentParameter === undefined || parentKind === undefined || parentKind.derived === true) return undefined
  const kind = operation.pathKinds[parameter]
  const lists = operations.filter(
    ({ verb, resource }) => verb === 'list' && kind !== undefined && resource?.kind === kind,
  )
  const list = lists.find(({ path }) => path.includes(`{${parentParameter}}`)) ?? lists[0]
  const above = parentKind.parent
  for (const parent of await app.store.find(parentKind, { limit: 100 })) {
    const values = {
      [parentParameter]: (parent as any).extId,
      ...(above === undefined ? {} : { [above.param]: valueAt(parent, above.field) }),
    }
    const field = rows!.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
    const found = list === undefined ? valueAt(parent, field) : (await app.call('GET', pathOf(list, values))).data
    // An external subnet of a VPC is a reference.
    if (found?.[0] !== undefined) return { ...values, [parameter]: found[0].extId ?? found[0].subnetReference }
  }
  return undefined
}

export const pathOf = (operation: Operation, values: Readonly<Record<string, string>>): string => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => {
    assert.ok(values[name] !== undefined, `${operation.key}: no value of {${name}}`)
    return values[name]
  })
  return `/${operation.namespace}/${operation.versions[0]}${path}`
}

export const requiredOptions = (operation: Operation): string =>
  operation.query['$startTime'] === undefined
    ? ''
    : '?$startTime=2026-03-02T08:00:00Z&$endTime=2026-03-02T08:30:00Z&$samplingInterval=60'
