/** Opens what the store of an app holds sealed: for secrets that no answer shows. */

import assert from 'node:assert/strict'
import { type Sealer, sealerOf } from '../../src/core/access/secrets.ts'
import { readMasterKey } from '../../src/data-folder/folder.ts'
import type { TestApp } from './start-app.ts'

export const sealerFor = ({ folder, store }: TestApp): Pick<Sealer, 'open'> =>
  sealerOf(readMasterKey({ path: folder } as never, undefined, false).key, {
    meta: (name) => store.meta(name),
    setMeta: () => assert.fail('the store has a data key'),
  })
