import { run } from './groups.ts'

run('networking')
