/** Described categories and users. */

import { systemRoleId } from '../../domains/iam/catalogue/system-roles.ts'
import { everything, insertPolicy, insertUser } from '../../domains/iam/seed.ts'
import { seedCategory } from '../../domains/platform/seed.ts'
import { seedId } from '../../domains/seed.ts'
import type { DeclaredCategory, DeclaredUser } from '../format.ts'
import type { Filling } from './filling.ts'

export const fillCategories = (filling: Filling, categories: readonly DeclaredCategory[] | undefined): Promise<void> =>
  filling.each('categories', categories, async ({ key, value, description, extId }, path) => {
    filling.judge(path, 'platform.createCategory', {
      key,
      value,
      ...(description === undefined ? {} : { description }),
    })
    await seedCategory(filling.ctx, { key, value, description, extId })
  })

export const fillUsers = (filling: Filling, users: readonly DeclaredUser[] | undefined): Promise<void> =>
  filling.each('users', users, async (item, path) => {
    const { name, userType = 'LOCAL', extId = seedId(`user/${name}`), roles = [], count: _, ...fields } = item
    // Who signs in does so with the password of admin, which the rules ask for and nobody writes here.
    const password = userType === 'LOCAL' ? { password: 'Somebody.1' } : {}
    filling.judge(path, 'iam.createUser', { username: name, userType, ...fields, ...password })
    await insertUser(filling.ctx, name, { ...fields, extId, userType })
    for (const role of roles)
      await insertPolicy(filling.ctx, `${name}: ${role}`, systemRoleId(role), [extId], everything)
  })
