import type { AnyResource } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { User } from '@hyperplane/contract/iam/user'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { defined } from '../../core/defined.ts'
import { relOfPast, seedPastBatch, seedPastTask } from '../demo/tasks.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import type { Filling } from './filling.ts'

export async function fillHistory(filling: Filling, { tasks = [], batches }: Declared): Promise<void> {
  for (const [index, item] of tasks.entries())
    await filling.item(`tasks[${index}]`, () => fillTask(filling, item, index, tasks.length))
  await filling.each('batches', batches, async ({ name, categories, failedCount = 0 }, path) => {
    const created = await filling.categories(categories, `${path}.categories`)
    await seedPastBatch(filling.ctx, { name, seed: `batch/${name}`, created, failedCount })
  })
}

async function fillTask(filling: Filling, item: DeclaredOf<'tasks'>, index: number, count: number): Promise<void> {
  const { operation, description, status, application } = item
  const entity = await affectedBy(filling, item, `tasks[${index}]`)
  await seedPastTask(filling.ctx, `past task/${index}`, count - index + 1, {
    app: application ?? (entity.rel.split(':')[0] as string),
    operation,
    description,
    ...defined({ status }),
    affected: [entity],
  })
}

const kinds = { cluster: Cluster, image: Image, subnet: Subnet, user: User, vm: Vm, volumeGroup: VolumeGroup } as const
const fields = Object.keys(kinds) as (keyof typeof kinds)[]

async function affectedBy(filling: Filling, item: DeclaredOf<'tasks'>, path: string) {
  const written = fields.filter((field) => item[field] !== undefined)
  const [field] = written
  if (field === undefined || written.length > 1)
    return filling.refuse(path, `expected one of ${fields.join(', ')}, found ${written.length}`)
  const name = item[field] as string
  const { extId } = await filling.named<AnyResource>(kinds[field], name, `${path}.${field}`)
  return { extId, name, rel: relOfPast[field] }
}
