import type { Operation } from '@hyperplane/contract'
import { seedId } from '../../core/ids/named-id.ts'
import { didYouMean } from '../../core/input/nearest.ts'
import { namesOfEntity } from '../../core/pipeline/fault-site.ts'
import { mutations } from '../acting.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { eachOf } from '../numbered.ts'
import { sentOf } from '../readable.ts'
import type { Filling } from './filling.ts'

type DeclaredOperation = DeclaredOf<'operations'>

/** In the written order: an entry may refer to the entities of earlier ones. */
export async function fillOperations(filling: Filling, entries: Declared['operations']): Promise<void> {
  for (const [index, described] of (entries ?? []).entries()) {
    const path = `operations[${index}]`
    for (const [item] of eachOf(described)) {
      if (filling.isFull) return
      await filling.item(path, () => perform(filling, item, path))
    }
  }
}

async function perform(filling: Filling, item: DeclaredOperation, path: string): Promise<void> {
  const operation = operationFor(filling, item.operation, `${path}.operation`)
  const { resource, stem, verb } = operation
  const name = item.name ?? namesOfEntity(item.body)[0] ?? path
  const called = `${stem}/${name}`
  const { extId = seedId(called) } = item
  const created = verb === 'create' && resource?.derived !== true ? resource : undefined
  const isDone = await filling.item(path, async () => {
    const [ids, clusterId, body] = await filling.all([
      () => pathOf(filling, operation, item.path, path),
      () => clusterOf(filling, operation, item.cluster, path),
      async () => operation.body && sentOf(operation.body, item.body ?? {}, `${path}.body`, filling),
      async () => {
        if (item.body !== undefined && operation.body === undefined)
          filling.refuse(`${path}.body`, `expected none: ${operation.key} has no body`)
      },
    ])
    const found = await filling.performWritten(path, operation, { called, extId, path: ids, clusterId, body })
    const [entity] = created === undefined ? [] : await filling.ctx.store.getMany(created, [extId, ...found])
    if (created === undefined || entity === undefined) return
    if (item.extId !== undefined && entity.extId !== extId)
      filling.refuse(`${path}.extId`, `expected none: this ${created.title} has the id ${entity.extId}`)
    filling.noteCreated(created, name, entity.extId)
  })
  if (created !== undefined && !isDone) filling.noteFailed(created, name)
  filling.forget()
}

function operationFor(filling: Filling, text: string, path: string): Operation {
  const performable = [...mutations.values()].filter((each) => filling.canPerform(each))
  const found = performable.filter(({ key, id }) => key === text || id === text)
  const [operation, other] = found
  if (operation !== undefined && other === undefined) return operation
  if (operation !== undefined)
    return filling.refuse(
      path,
      `"${text}" names several operations: expected ${found.map(({ key }) => key).join(' or ')}`,
    )
  const names = performable.flatMap(({ key, id }) => [key, id])
  return filling.refuse(path, `"${text}" is no operation that a seed can perform${didYouMean(text, names)}`)
}

async function pathOf(
  filling: Filling,
  { path: template, pathKinds }: Operation,
  given: DeclaredOperation['path'] = {},
  path: string,
): Promise<Record<string, string>> {
  const parameters = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  for (const name of Object.keys(given))
    if (!parameters.includes(name))
      filling.note(`${path}.path.${name}`, `is no parameter of ${template}${didYouMean(name, parameters)}`)
  const ids = await filling.all(
    parameters.map((name) => async () => {
      const { [name]: value } = given
      if (value === undefined) return filling.refuse(`${path}.path`, `${name} is missing, a parameter of ${template}`)
      const { [name]: kind } = pathKinds
      return kind === undefined ? value : filling.idOrName(kind, value, `${path}.path.${name}`)
    }),
  )
  return Object.fromEntries(parameters.map((name, index) => [name, ids[index] as string]))
}

async function clusterOf(
  filling: Filling,
  { clusterId, key }: Operation,
  name: string | undefined,
  path: string,
): Promise<string | undefined> {
  if (name !== undefined) return filling.idOrName('Cluster', name, `${path}.cluster`)
  return clusterId === 'required' ? filling.refuse(path, `cluster is missing: ${key} needs it`) : undefined
}
