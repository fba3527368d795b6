/** CD-ROM drives of a VM. Source: behaviour vmm.md 1.3, 1.16. */
import { Image } from '@hyperplane/contract/vmm/content/image'
import { CdRom, cdRomOperations } from '@hyperplane/contract/vmm/vm/parts/cd-rom'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { implement, parentOf, type RecordContext, type WriteContext } from '../../../context.ts'
import type { CdRomEntity, FileBacking } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { presentVms } from '../present.ts'
import { busFaultsAt, fileFaults } from '../rules.ts'
import { refuseUnbuiltSource } from '../unbuilt.ts'
import { hydrationOfCdRom } from './hydration.ts'
import { changeOf, distinctAddresses, type PartChange, type PartKind, type PartTask, readsOf } from './part.ts'
import {
  endWithoutFile,
  freeSlot,
  holdFile,
  makeStep,
  planFile,
  releaseFile,
  reserveStep,
  stepsOfPart,
  type WithFile,
} from './part-file.ts'
import { busAddressFaults, defaultCdRomBus, requireNotBootDevice, slotsTaken, wishOf } from './slots.ts'

type DriveBody = Omit<CdRomEntity, 'extId'>

interface Plan extends WithFile {
  readonly drive: DriveBody
}

const cdRoms: PartKind<'cdRoms'> = {
  resource: CdRom,
  field: 'cdRoms',
  maximum: 10,
  addresses: {
    path: 'diskAddress',
    of: (vm) => slotsTaken(vm).map(({ busType, index }) => `address (${busType} ${index})`),
  },
  coldFields: (before, after) => {
    if (before !== undefined && after !== undefined) return []
    const isHot = before === undefined && after?.diskAddress?.busType === 'SATA' && after.backingInfo === undefined
    return isHot ? [] : ['cdRoms']
  },
}

// Includes the drive that a guest customisation adds, while its ISO is inserted.
const reads = readsOf(CdRom, 'cdRoms', presentVms)

const create = changeOf<'cdRoms', Plan>(
  cdRoms,
  'Create',
  async ({ body: { drive, file }, rest, store }) => {
    const wish = wishOf('diskAddress', drive.diskAddress, defaultCdRomBus(rest))
    refuseAll(busFaultsAt(rest, wish.busType, 'diskAddress/busType'))
    const diskAddress = (await freeSlot(store, rest, wish)) as CdRomEntity['diskAddress']
    return { ...(file === undefined ? {} : { backingInfo: file }), diskAddress, isoType: 'OTHER' }
  },
  filling,
)

const insert = changeOf<'cdRoms', WithFile>(
  cdRoms,
  'Insert',
  async ({ body: { file }, before }) => {
    if (before?.backingInfo !== undefined) throw conflict('is not empty', 'Eject its content first')
    return { ...before, backingInfo: file, isoType: 'OTHER' } as CdRomEntity
  },
  filling,
)

const eject = changeOf<'cdRoms', undefined>(
  cdRoms,
  'Eject',
  async ({ before }) => {
    const { backingInfo, ...drive } = before as CdRomEntity
    if (backingInfo === undefined) throw conflict('is empty', 'Nothing can be ejected')
    if (drive.isoType === 'GUEST_CUSTOMIZATION')
      throw conflict('holds the ISO of the guest customisation', 'It is ejected 30 s after the next boot')
    return { ...drive, isoType: 'OTHER' }
  },
  (task) => emptying(task),
)

const remove = changeOf<'cdRoms', undefined>(
  cdRoms,
  'Delete',
  async ({ before, rest }) => {
    if (before !== undefined) requireNotBootDevice(rest, before, 'CD-ROM drive')
    return undefined
  },
  (task) => emptying(task),
)

const conflict = (state: string, advice: string): ApiError =>
  new ApiError('CONFLICT', { fault: `The CD-ROM drive ${state}. ${advice}.` })

function filling<B extends WithFile>(task: PartTask<B>): PartTask<B> {
  const { define, store } = stepsOfPart(task)
  return {
    ...task,
    steps: [
      reserveStep('content', 40),
      makeStep('create file', 60, true),
      { ...define, name: 'attach', progress: 90 },
      {
        ...store,
        record: async (ctx, input) => {
          await store.record?.(ctx, input, undefined)
          await releaseFile(ctx, input)
          await warnOfDiskImage(ctx, input)
        },
      },
    ],
    onUndone: endWithoutFile,
  }
}

/** Content is deleted after the domain has released it. */
function emptying(task: PartTask<undefined>): PartTask<undefined> {
  const { define, store } = stepsOfPart(task)
  return {
    ...task,
    steps: [
      {
        ...define,
        name: 'detach',
        progress: 90,
        run: async (ctx, input) => {
          await define.run?.(ctx, input)
          const vm = await ctx.store.get(Vm, input.vmExtId)
          return { diskExtId: vm?.cdRoms?.find(({ extId }) => extId === input.partExtId)?.backingInfo?.diskExtId }
        },
      },
      {
        ...store,
        run: async (ctx) => {
          const { diskExtId } = ctx.outputs['detach'] as { readonly diskExtId?: string }
          if (diskExtId !== undefined) await ctx.drivers.hypervisor.deleteDisk(diskExtId)
        },
        isIrreversible: true,
      },
    ],
  }
}

async function warnOfDiskImage(ctx: RecordContext, { body: { file } }: PartChange<WithFile>): Promise<void> {
  const { imageExtId } = (file?.dataSource?.reference ?? {}) as { imageExtId?: string }
  const image = imageExtId === undefined ? undefined : await ctx.store.get(Image, imageExtId)
  if (image?.type === 'DISK_IMAGE')
    ctx.warn(`The image "${image.name}" is a disk image, not an ISO image: guests may not be able to read it.`)
}

async function insertContent(
  ctx: WriteContext<unknown, 'vmExtId'>,
  path: { readonly vmExtId: string; readonly extId: string },
  backing: FileBacking,
): Promise<TaskStarted> {
  const vm = parentOf(ctx, 'vmExtId', Vm)
  const file = await planFile(ctx, vm, backing, ctx.ids.uuid())
  const locks = await holdFile(ctx, vm, file)
  return insert.handle(ctx, { path, body: { file }, locks })
}

const contentFaults = (backing: FileBacking | undefined): ApiError[] =>
  backing?.dataSource?.reference === undefined ? [fault('backingInfo/dataSource', 'a data source', undefined)] : []

function creationFaults({ body }: { readonly body: DriveBody }): ApiError[] {
  refuseUnbuiltSource('createCdRom', body.backingInfo)
  return [
    ...(body.backingInfo === undefined ? [] : fileFaults(body.backingInfo, '')),
    ...busAddressFaults(wishOf('', body.diskAddress, 'IDE')),
  ]
}

function insertFaults({ body }: { readonly body: { readonly backingInfo?: FileBacking } }): ApiError[] {
  refuseUnbuiltSource('insertCdRomById', body.backingInfo)
  const faults = contentFaults(body.backingInfo)
  return faults.length > 0 ? faults : fileFaults(body.backingInfo as FileBacking, '')
}

export const cdRom = implement(
  cdRomOperations,
  {
    listCdRomsByVmId: reads.list,
    async createCdRom(ctx, { path, body }) {
      const vm = parentOf(ctx, 'vmExtId', Vm)
      const extId = ctx.ids.uuid()
      if (body.backingInfo === undefined) return create.handle(ctx, { path: { ...path, extId }, body: { drive: body } })
      const file = await planFile(ctx, vm, body.backingInfo, ctx.ids.uuid())
      const locks = await holdFile(ctx, vm, file)
      return create.handle(ctx, { path: { ...path, extId }, body: { drive: body, file }, locks })
    },
    getCdRomById: reads.get,
    deleteCdRomById: (ctx, { path }) => remove.handle(ctx, { path, body: undefined }),
    insertCdRomById: (ctx, { path, body }) => insertContent(ctx, path, body.backingInfo as FileBacking),
    ejectCdRomById: (ctx, { path }) => eject.handle(ctx, { path, body: undefined }),
    enableVmCdRomHydration: hydrationOfCdRom.enable,
    disableVmCdRomHydration: hydrationOfCdRom.disable,
  },
  {
    rules: { createCdRom: creationFaults, insertCdRomById: insertFaults },
    tasks: [create.task, insert.task, eject.task, remove.task, ...hydrationOfCdRom.tasks],
    invariants: [distinctAddresses(cdRoms)],
  },
)
