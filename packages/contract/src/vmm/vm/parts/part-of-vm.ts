import * as s from '../../../schema.ts'

/** Options of a kind whose entities are entries of a list of a VM. */
export const partOfVm = (listedIn: string) =>
  ({
    derived: true,
    internal: { vmExtId: s.uuid() },
    parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn },
    sharesTagOf: 'vmExtId',
  }) as const
