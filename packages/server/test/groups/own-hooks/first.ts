import { declareTwoTests } from './shared.ts'

declareTwoTests()
