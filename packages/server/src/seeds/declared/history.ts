/** Described tasks and batches that ended before the start of the world. */
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { relOfPast, seedPastBatch, seedPastTask } from '../demo/tasks.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import type { Filling } from './filling.ts'

export async function fillHistory(filling: Filling, { tasks = [], batches }: Declared): Promise<void> {
  for (const [index, item] of tasks.entries())
    await filling.item(`tasks[${index}]`, () => fillTask(filling, item, index, tasks.length))
  await filling.each('batches', batches, async ({ name, categories, failedCount = 0 }, path) => {
    const made = await filling.categories(categories, `${path}.categories`)
    await seedPastBatch(filling.ctx, { name, seed: `batch/${name}`, made, failedCount })
  })
}

async function fillTask(filling: Filling, item: DeclaredOf<'tasks'>, index: number, count: number): Promise<void> {
  const path = `tasks[${index}]`
  const { operation, description, status, application } = item
  const { rel, ...entity } = await affectedBy(filling, item, path)
  await seedPastTask(filling.ctx, `past task/${index}`, count - index + 1, {
    app: application ?? (rel.split(':')[0] as string),
    operation,
    description,
    ...(status === undefined ? {} : { status }),
    affected: [{ ...entity, rel }],
  })
}

async function affectedBy(filling: Filling, item: DeclaredOf<'tasks'>, path: string) {
  const named = kinds.filter(({ field }) => item[field] !== undefined)
  const [kind, other] = named
  if (kind === undefined || other !== undefined)
    return filling.refuse(path, `expected one of ${kinds.map(({ field }) => field).join(', ')}, found ${named.length}`)
  const name = item[kind.field] as string
  return { extId: await kind.idOf(filling, name, `${path}.${kind.field}`), name, rel: kind.rel }
}

type Field = 'cluster' | 'image' | 'subnet' | 'user' | 'vm' | 'volumeGroup'

interface Kind {
  readonly field: Field
  readonly rel: string
  readonly idOf: (filling: Filling, name: string, path: string) => Promise<string>
}

const kinds: readonly Kind[] = [
  { field: 'cluster', rel: relOfPast.cluster, idOf: async (names, ...asked) => (await names.cluster(...asked)).extId },
  { field: 'image', rel: relOfPast.image, idOf: async (names, ...asked) => (await names.image(...asked)).extId },
  { field: 'subnet', rel: relOfPast.subnet, idOf: async (names, ...asked) => (await names.subnet(...asked)).extId },
  { field: 'user', rel: relOfPast.user, idOf: async (names, ...asked) => (await names.user(...asked)).extId },
  { field: 'vm', rel: relOfPast.vm, idOf: async (names, ...asked) => (await names.vm(...asked)).extId },
  {
    field: 'volumeGroup',
    rel: relOfPast['volume-group'],
    idOf: async (names, name, path) => (await names.named(VolumeGroup, name, path)).extId,
  },
]
